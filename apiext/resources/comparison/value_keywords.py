"""Rules of keywords that restrict values: bounds, enum, required, pattern, format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from apiext.base.meta.encoding.json_values import identity
from apiext.resources.comparison.change import Direction, UngradedChange
from apiext.resources.comparison.pattern_languages import pattern_direction
from apiext.resources.comparison.rule_texts import BOUNDS
from apiext.resources.comparison.shown import listed, shown
from apiext.schema.model import Props
from apiext.schema.validation.keywords.values import is_supported_format

KeywordRule = Callable[[Props, Props], Iterable[UngradedChange]]
"""Compares one or more keywords of two schemas, old and new. The path of a change is a property's name, or empty."""

_EXCLUSIVE: Final = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
_SIZES: Final = frozenset({"minLength", "minItems", "minProperties"})
_PATTERN_RULES: Final = {
    Direction.NARROWED: "patternNarrowed",
    Direction.WIDENED: "patternWidened",
    Direction.CHANGED: "patternChanged",
    None: "patternRewritten",
}
_FLOAT32_LIMIT: Final = 2.0**128
_WIDER_FORMATS: Final = {("int32", "int64"), ("float", "double")}
"""A format, and one that accepts all of its values."""


def _bound(keyword: str, old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = _limit(keyword, old), _limit(keyword, new)
    if before == after:
        return
    if _fits(keyword, old) != _fits(keyword, new):
        is_narrower = _fits(keyword, old)
    else:
        # an upper bound is narrower if it is lower, and a lower bound if it is higher
        is_narrower = before is None or (after is not None and (after < before) == keyword.startswith("max"))
    name = f"{keyword}{'Narrowed' if is_narrower else 'Widened'}"
    yield UngradedChange(name, _changed(keyword, _bound_text(keyword, old), _bound_text(keyword, new)))


def _limit(keyword: str, props: Props) -> tuple[float, int] | None:
    """Return a bound as a value that is ordered; an exclusive bound lies next to the inclusive one. No size is below 0."""
    value = props.get(keyword)
    if value is None:
        return (0, 0) if keyword in _SIZES else None
    excludes = props.get(_EXCLUSIVE.get(keyword, "")) is True
    return value, (-1 if keyword == "maximum" else 1) * excludes


def _fits(keyword: str, props: Props) -> bool:
    """Report whether the server can compare values with a bound. If not, it rejects all integers, or all values."""
    value, kind, form = props.get(keyword), props.get("type"), props.get("format")
    if value is None:
        return True
    if kind == "integer":
        limit = 2**31 if form == "int32" else 2**63
        return bool(-limit <= value < limit and value == int(value))
    if kind == "number" and form == "float" and abs(value) >= _FLOAT32_LIMIT:
        return False
    # the server truncates the bound to int64 before it compares an integer, and gets the least one
    return keyword != "maximum" or bool(value < 2**63)


def _bound_text(keyword: str, props: Props) -> str:
    value = props.get(keyword)
    if value is None:
        return ""
    return shown(value) + (" (exclusive)" if props.get(_EXCLUSIVE.get(keyword, "")) is True else "")


def _changed(what: str, old: str, new: str) -> str:
    if not old:
        return f"{what} {new} was added"
    return f"{what} changed from {old} to {new}" if new else f"{what} {old} was removed"


def _multiple_of(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = old.get("multipleOf"), new.get("multipleOf")
    if before == after:
        return
    if not before or not after:
        name = "multipleOfNarrowed" if after else "multipleOfWidened"
    elif before != int(before) or after != int(after):
        name = "multipleOfChanged"
    else:
        name = "multipleOfWidened" if before % after == 0 else "multipleOfNarrowed" if after % before == 0 else "multipleOfChanged"
    yield UngradedChange(name, _changed("multipleOf", _text(before), _text(after)))


def _text(value: Any) -> str:
    return "" if value is None else shown(value)


def _unique_items(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (props.get("uniqueItems") is True for props in (old, new))
    if before != after:
        yield UngradedChange(f"uniqueItems{'Narrowed' if after else 'Widened'}", f"uniqueItems was {'added' if after else 'removed'}")


def _pattern(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (props.get("pattern") or "" for props in (old, new))
    if before != after:
        direction = pattern_direction(before, after)
        name = _PATTERN_RULES[direction]
        if direction is not None and not (before and after):
            name = "patternAdded" if after else "patternRemoved"
        yield UngradedChange(name, _changed("pattern", *(shown(text) if text else "" for text in (before, after))))


def _format(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (props.get("format") or "" for props in (old, new))
    if before == after:
        return
    message = _changed("format", before, after)
    checked_before, checked_after = (_checked_format(props) for props in (old, new))
    if checked_before == checked_after:
        yield UngradedChange("uncheckedFormatChanged", message)
    elif not checked_after or (checked_before, checked_after) in _WIDER_FORMATS:
        yield UngradedChange("formatWidened", message)
    elif not checked_before or (checked_after, checked_before) in _WIDER_FORMATS:
        yield UngradedChange("formatNarrowed", message)
    else:
        yield UngradedChange("formatChanged", message)


def _checked_format(props: Props) -> str:
    """Return the format if the server checks it for the type, else an empty string."""
    name: str = props.get("format") or ""
    kind = props.get("type")
    types = ("integer", "string") if props.get("x-kubernetes-int-or-string") is True else (kind,) if kind else ()
    if not name or not is_supported_format(types, name) or name == "password":
        return ""
    # dashes do not matter in names
    return name.replace("-", "")


def _enum(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = ({identity(value): value for value in props.get("enum") or ()} for props in (old, new))
    added = [value for key, value in after.items() if key not in before]
    removed = [value for key, value in before.items() if key not in after]
    if not before and after:
        yield UngradedChange("enumAdded", f"enum with {listed(added)} was added")
    elif before and not after:
        yield UngradedChange("enumRemoved", f"enum with {listed(removed)} was removed")
    else:
        if added:
            yield UngradedChange("enumValueAdded", f"enum accepts {listed(added)}, too")
        if removed:
            yield UngradedChange("enumValueRemoved", f"enum no longer accepts {listed(removed)}")


def _required(old: Props, new: Props) -> Iterator[UngradedChange]:
    before, after = (dict.fromkeys(props.get("required") or ()) for props in (old, new))
    properties: Mapping[str, Any] = new.get("properties") or {}
    for name in after:
        if name not in before:
            default = (properties.get(name) or {}).get("default")
            if default is None:
                yield UngradedChange("requiredAdded", "the field became required", name)
            else:
                yield UngradedChange("requiredWithDefaultAdded", f"the field became required, with default {shown(default)}", name)
    for name in before:
        if name not in after:
            yield UngradedChange("requiredRemoved", "the field is no longer required", name)


_BOUND_RULES: Final[Mapping[str, KeywordRule]] = {keyword: partial(_bound, keyword) for keyword in BOUNDS}
VALUE_RULES: Final[Mapping[str, KeywordRule]] = MappingProxyType(
    {**_BOUND_RULES}
    | {exclusive: _BOUND_RULES[keyword] for keyword, exclusive in _EXCLUSIVE.items()}
    | {
        "multipleOf": _multiple_of,
        "uniqueItems": _unique_items,
        "pattern": _pattern,
        "format": _format,
        "enum": _enum,
        "required": _required,
    }
)
"""The rule of each keyword that restricts values."""
