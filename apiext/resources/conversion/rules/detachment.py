"""Copies of what rules change in an object. The rest stays shared with the object as it was before."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.base.meta.encoding import json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.model import EACH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from apiext.resources.conversion.rules.model import FieldSteps, Rule

Detach = Callable[[Object], None]
"""Replaces, in place, the values of an object that rules change by copies."""
_NESTED: Final = frozenset({dict, list})


def detacher(rules: Iterable[Rule]) -> Detach:
    """Return the function that copies what rules change in either direction, whatever the order in which they move fields.

    A rule changes the objects and lists on its path. What it moves, later rules may change at another path: that is copied as a whole.
    """
    root = _Names({}, is_moved=False)
    for rule in rules:
        for path, is_moved in _changed(rule):
            _add(root, path, is_moved=is_moved)
    return _Detachment(_parts(root)).apply


def _changed(rule: Rule) -> Iterator[tuple[FieldSteps, bool]]:
    """Yield the paths at which a rule sets or removes values, and whether it moves objects and lists there."""
    match rule:
        case model.Move(source, target):
            yield from ((source, True), (target, True))
        case model.Copy(target=target):
            yield target, False
        case model.Split(source=whole, targets=parts) | model.Join(target=whole, sources=parts):
            # both leave values that are no texts
            yield from ((path, False) for path in (whole, *parts))
        case model.Expressions(to_hub, to_spoke):
            yield from ((each.path, False) for each in (*to_hub, *to_spoke))
        case model.Wrap(path) | model.Unwrap(path) | model.ListToMap(path) | model.MapToList(path):
            yield path, True
        case _:
            yield rule.path, False


class _Names(NamedTuple):
    """The steps that lead on from a place."""

    below: dict[str, _Names]
    is_moved: bool


class _Part(NamedTuple):
    """What is copied of a value: the value alone, or with members. None in place of a part: all of it."""

    members: tuple[tuple[str, _Part | None], ...]
    each: _Part | None
    """Copied of each item or member."""
    has_each: bool


def _add(root: _Names, path: FieldSteps, *, is_moved: bool) -> None:
    node = root
    for step in path[:-1]:
        node = node.below.setdefault(step, _Names({}, is_moved=False))
    known = node.below.get(path[-1])
    node.below[path[-1]] = _Names({} if known is None else known.below, is_moved or (known is not None and known.is_moved))


def _parts(names: _Names) -> _Part:
    # the value at the end of a path is replaced and not changed, unless it is moved
    changed = {step: None if below.is_moved else _parts(below) for step, below in names.below.items() if below.is_moved or below.below}
    members = tuple((step, part) for step, part in changed.items() if step != EACH)
    return _Part(members, changed.get(EACH), EACH in changed)


class _Detachment:
    """Implements Detach."""

    __slots__ = ("_part",)

    def __init__(self, part: _Part) -> None:
        self._part = part

    def apply(self, obj: Object) -> None:
        """Replace values by copies in place."""
        _detach(obj, self._part)


def _detach(value: dict[str, Any], part: _Part) -> None:
    if part.has_each:
        for name, member in value.items():
            if type(member) in _NESTED:
                value[name] = _copy(member, part.each)
    for name, below in part.members:
        member = value.get(name)
        if type(member) in _NESTED:
            value[name] = _copy(member, below)


def _copy(value: Any, part: _Part | None) -> Any:
    if part is None:
        return json_values.copy(value)
    copied = value.copy()
    if type(value) is dict:
        _detach(copied, part)
    elif part.has_each:
        copied = [_copy(item, part.each) if type(item) in _NESTED else item for item in value]
    return copied
