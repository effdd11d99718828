"""The fields of both schemas of a version as one tree, with what changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.resources.comparison.change import Change
    from apiext.resources.definitions.definition import Definition, Version

    Props = Mapping[str, Any]

MAX_UNCHANGED: Final = 2_000
"""Fields of a tree that do not change and have no changes below; others are left out."""
_VALUES: Final = 5
"""Values of an enum that a type names."""


class FieldNode(NamedTuple):
    """A field with the fields below it."""

    name: str
    type: str
    mark: str
    """"added", "removed" or "changed"; "" for the same in both schemas."""
    messages: Sequence[str]
    below: Sequence[FieldNode]
    changes: int
    """The fields below it that have a mark."""


@dataclass(frozen=True, slots=True)
class FieldTree:
    """The fields of a version."""

    version: str
    state: str
    """"added" or "removed" for the version itself, else ""."""
    fields: Sequence[FieldNode]
    added: int
    removed: int
    changed: int
    cut: bool
    """Whether fields are left out that do not change."""


def trees_of(old: Definition | None, new: Definition | None, changes: Sequence[Change]) -> list[FieldTree]:
    """Return the trees of all versions of both definitions, in the order of the new one."""
    before, after = ({one.name: one for one in definition.versions} if definition else {} for definition in (old, new))
    return [_tree(name, before.get(name), after.get(name), changes) for name in dict.fromkeys([*after, *before])]


def _tree(name: str, old: Version | None, new: Version | None, changes: Sequence[Change]) -> FieldTree:
    state = "added" if old is None else "removed" if new is None else ""
    growth = _Growth([change for change in changes if change.version == name])
    schemas = [version.schema or {} for version in (old or new, new or old) if version is not None]
    fields = growth.below(schemas[0], schemas[-1], "")
    marks = growth.marks
    return FieldTree(name, state, fields, marks["added"], marks["removed"], marks["changed"], cut=growth.is_cut)


class _Growth:
    """Makes the nodes of a tree."""

    def __init__(self, changes: Sequence[Change]) -> None:
        self.marks: Counter[str] = Counter()
        self.is_cut = False
        self._left = MAX_UNCHANGED
        self._messages: dict[str, list[str]] = {}
        self._above: set[str] = set()
        for change in changes:
            self._messages.setdefault(change.path, []).append(change.message)
            self._above.update(change.path[:end] for end, char in enumerate(change.path) if char in ".[")

    def below(self, old: Props, new: Props, path: str) -> list[FieldNode]:
        """Return the fields of two schemas at a path."""
        before, after = _fields(old), _fields(new)
        found = []
        for name in dict.fromkeys([*after, *before]):
            node = self._node(name, before.get(name), after.get(name), f"{path}.{name}" if path else name)
            if node is not None:
                found.append(node)
        return found

    def _node(self, name: str, old: Props | None, new: Props | None, path: str) -> FieldNode | None:
        messages = list(self._messages.get(path, ()))
        former, present = old or new or {}, new or old or {}
        kind, inner, other = _type(present), former, present
        # items and values of maps have no node of their own
        while (former_step := _step(inner)) and (step := _step(other)) and former_step[0] == step[0]:
            path += step[0]
            messages += self._messages.get(path, ())
            inner, other = former_step[1], step[1]
        mark = "added" if old is None else "removed" if new is None else "changed" if messages else ""
        if not mark and path not in self._above:
            self._left -= 1
            if self._left < 0:
                self.is_cut = True
                return None
        if mark:
            self.marks[mark] += 1
        below = self.below(inner, other, path)
        return FieldNode(name, kind, mark, messages, below, sum(one.changes + bool(one.mark) for one in below))


def _fields(schema: Props) -> Mapping[str, Props]:
    while step := _step(schema):
        schema = step[1]
    found: Mapping[str, Props] = schema.get("properties") or {}
    return found


def _step(schema: Props) -> tuple[str, Props] | None:
    """Return the part of a path for items or values of a map, and their schema; None for other schemas."""
    for member, part in (("items", "[]"), ("additionalProperties", "[*]")):
        below = schema.get(member)
        if isinstance(below, Mapping):
            return part, below
    return None


def _type(schema: Props) -> str:
    if step := _step(schema):
        return f"{'list' if step[0] == '[]' else 'map'} of {_type(step[1])}"
    if schema.get("x-kubernetes-int-or-string") is True:
        return "integer or string"
    kind, values = schema.get("type") or "any", schema.get("enum") or ()
    shown = ", ".join(map(str, values[:_VALUES])) + (", ..." if len(values) > _VALUES else "")
    return f"{kind}: {shown}" if values else kind
