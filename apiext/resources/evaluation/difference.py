"""Differences between two states of an object, as general paths."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.evaluation.field_paths import below, child
from apiext.schema.validation.correlated import KeyedItems

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.schema.model import Structural

_TYPE_META: Final = frozenset({"apiVersion", "kind", "metadata"})
_TEXTS: Final = ("labels", "annotations")
"""Members of the metadata that a conversion may change."""


class What(Enum):
    """The kind of a difference."""

    MISSING = "missing"
    ADDED = "added"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field that differs."""

    what: What
    path: str
    before: Any = None
    after: Any = None


def same_content(before: Object, after: Object) -> bool:
    """Return whether two objects are equal apart from apiVersion and metadata. Here true equals 1: only a conversion could mix them up."""
    if len(before) != len(after):
        return False
    for name, member in before.items():
        other = after.get(name)
        if other is not member and name not in _TYPE_META and (other != member or name not in after):
            return False
    return True


def differences(before: Object, after: Object, schema: Structural | None, *, typed: bool = False) -> list[FieldDifference]:
    """Return how the content of an object differs. Metadata does not count. Unless `typed`, true equals 1: only a webhook mixes them up."""
    walk = _Walk(typed=typed)
    one, other = ({name: member for name, member in obj.items() if name not in _TYPE_META} for obj in (before, after))
    walk.compare(one, other, schema, "")
    return walk.found


def text_differences(before: Object, after: Object) -> list[FieldDifference]:
    """Return the missing and changed labels and annotations of an object."""
    found: list[FieldDifference] = []
    for name in _TEXTS:
        one, other = ((obj.get("metadata") or {}).get(name) or {} for obj in (before, after))
        path = f"metadata.{name}[]"
        for key, text in one.items():
            if key not in other:
                found.append(FieldDifference(What.MISSING, path, text))
            elif other[key] != text:
                found.append(FieldDifference(What.CHANGED, path, text, other[key]))
    return found


class _Walk:
    """One comparison."""

    __slots__ = ("_typed", "found")

    def __init__(self, *, typed: bool) -> None:
        self._typed = typed
        self.found: list[FieldDifference] = []

    def compare(self, before: Any, after: Any, schema: Structural | None, path: str) -> None:
        """Compare two values at a path."""
        if before is after or (not self._typed and before == after):
            return
        if type(before) is dict and type(after) is dict:
            for name, member in before.items():
                here = below(path, schema, name)
                if name in after:
                    self.compare(member, after[name], child(schema, name), here)
                else:
                    self.found.append(FieldDifference(What.MISSING, here, member))
            added = [name for name in after if name not in before]
            self.found += [FieldDifference(What.ADDED, below(path, schema, name), None, after[name]) for name in added]
        elif type(before) is list and type(after) is list:
            self._compare_lists(before, after, schema, path)
        elif before != after or (type(before) is bool) != (type(after) is bool):
            self.found.append(FieldDifference(What.CHANGED, path, before, after))

    def _compare_lists(self, before: list[Any], after: list[Any], schema: Structural | None, path: str) -> None:
        items = None if schema is None else schema.items
        if len(before) == len(after):
            for one, other in zip(before, after, strict=True):
                self.compare(one, other, items, f"{path}[]")
            return
        if schema is None or schema.list_type != "map":
            self.found.append(FieldDifference(What.CHANGED, path, before, after))
            return
        earlier, later = KeyedItems(before, schema.raw), KeyedItems(after, schema.raw)
        for one in before:
            other = later.get(one)
            if other is None:
                self.found.append(FieldDifference(What.MISSING, f"{path}[]", one))
            else:
                self.compare(one, other, items, f"{path}[]")
        self.found += [FieldDifference(What.ADDED, f"{path}[]", None, item) for item in after if earlier.get(item) is None]
