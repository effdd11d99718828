"""Explains why a value counts as unchanged or changed in an update, as ratcheting compares it (schema/validation/correlated.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec, json_values
from apiext.schema.validation.correlated import Correlated, KeyedItems, is_keyed_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.resources.evaluation.fields import Step
    from apiext.schema.model import Props

_MAX_SHOWN: Final = 60
_TYPE_META: Final = frozenset({"apiVersion", "kind"})
_METADATA: Final = "the whole object must be unchanged, and its metadata never counts as unchanged"


class ValueComparison:
    """The new and the old object."""

    def __init__(self, new: Any, old: Any, props: Props) -> None:
        self._new = new
        self._old = old
        self._props = props

    def unchanged(self, steps: Sequence[Step], *, nearest: bool = False) -> str:
        """Explain that the value at the steps, or one around it, is unchanged. `nearest`: a rule's value may have no counterpart."""
        current: Correlated | None = Correlated(self._new, self._old, self._props)
        path, matched, value, props = "", "", self._new, self._props
        for step in steps:
            if current is None or current.equal:
                break
            if isinstance(step, int):
                matched = f"; its items are matched by {', '.join(_keys(props))}"
            following = _child(current, step)
            if following is None and nearest:
                break
            current, path = following, _below(path, step, value, props)
            value, props = _member(value, step), _below_props(props, step)
        return f"{path or 'the object'} is unchanged{matched}"

    def changed(self, steps: Sequence[Step], *, nearest: bool = False) -> str:
        """Explain why the value at the steps counts as changed; "" if it does not."""
        current = Correlated(self._new, self._old, self._props)
        new, old, props, path = self._new, self._old, self._props, ""
        for step in steps:
            if not path and step in _TYPE_META:
                return f"{step} is never tolerated"
            following = _child(current, step)
            if following is None:
                reason = _no_counterpart(new, old, props, path, step)
                return ("" if current.equal else reason) if nearest else reason
            path = _below(path, step, new, props)
            new, old, props = _member(new, step), _counterpart(new, old, props, step), _below_props(props, step)
            current = following
        if current.equal:
            return ""
        return _inequality(new, old, props, path) if steps else _METADATA


def _child(current: Correlated, step: Step) -> Correlated | None:
    return current.index(step) if isinstance(step, int) else current.key(step)


def _keys(props: Props) -> list[str]:
    return list(props.get("x-kubernetes-list-map-keys") or ())


def _below(path: str, step: Step, value: Any, props: Props) -> str:
    """Return the path of a member or item; an item of a list of type map is named by its keys."""
    if not isinstance(step, int):
        return f"{path}.{step}" if path else step
    item = value[step] if type(value) is list and step < len(value) else None
    if is_keyed_list(props) and type(item) is dict:
        return f"{path}[{_key_text(item, props)}]"
    return f"{path}[{step}]"


def _key_text(item: Mapping[str, Any], props: Props) -> str:
    return ",".join(f"{name}={item[name]}" for name in _keys(props) if name in item)


def _member(value: Any, step: Step) -> Any:
    try:
        return value[step]
    except (KeyError, IndexError, TypeError):
        return None


def _counterpart(new: Any, old: Any, props: Props, step: Step) -> Any:
    if isinstance(step, int):
        return KeyedItems(old, props).get(new[step])
    return _member(old, step)


def _below_props(props: Props, step: Step) -> Props:
    found = props.get("items") if isinstance(step, int) else (props.get("properties") or {}).get(step, props.get("additionalProperties"))
    return found if isinstance(found, Mapping) else {}


def _no_counterpart(new: Any, old: Any, props: Props, path: str, step: Step) -> str:
    """Explain why a member or item has no old value."""
    here = _below(path, step, new, props)
    if isinstance(step, int):
        if type(old) is not list:
            return f"the old object has no list {path}"
        if not is_keyed_list(props):
            return f"the list {path} has changed, and it is not of type map: its items have no counterparts"
        return f"the old list has no item {here}"
    if type(old) is not dict or step not in old:
        return f"the old object has no {here}"
    if type(new) is not dict or step not in new:
        return f"{here} has been removed"
    return f"the schema does not specify {here}: it cannot be compared"


def _inequality(new: Any, old: Any, props: Props, path: str) -> str:
    """Explain why two values differ, as far as their parts can be correlated; "" if they do not."""
    if type(new) is list and type(old) is list and is_keyed_list(props) and len(new) == len(old):
        earlier = KeyedItems(old, props)
        for index, item in enumerate(new):
            here, known = _below(path, index, new, props), earlier.get(item)
            if known is None:
                return f"the old list has no item {here}"
            if reason := _inequality(item, known, _below_props(props, index), here):
                return reason
        return ""
    if type(new) is dict and type(old) is dict:
        gone = [name for name in old if name not in new]
        if gone:
            return f"{_below(path, gone[0], old, props)} has been removed"
        for name, member in new.items():
            here = _below(path, name, new, props)
            if name not in old:
                return f"the old object has no {here}"
            if not _below_props(props, name) and not _specifies(props, name):
                return f"the schema does not specify {here}: {path or 'the object'} cannot be compared"
            if reason := _inequality(member, old[name], _below_props(props, name), here):
                return reason
        return ""
    return "" if json_values.equal(new, old) else f"{path} has changed from {_shown(old)} to {_shown(new)}"


def _specifies(props: Props, name: str) -> bool:
    return isinstance((props.get("properties") or {}).get(name, props.get("additionalProperties")), Mapping)


def _shown(value: Any) -> str:
    text = json_codec.dumps(value).decode()
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."
