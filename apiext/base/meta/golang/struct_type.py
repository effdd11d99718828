"""Structs in the model of Go types (type_model.py)."""

# ruff: noqa: D102 -- the methods of the types are described by GoType

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.golang.type_model import GoType, Pointer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.golang.type_model import Decoder

_MAX_PLANS: Final = 500
"""Sets of members of a struct whose order is kept."""
_MAX_PLANNED: Final = 16
"""Members of such a set."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    name: str
    """Name in JSON."""
    type: GoType
    omit_empty: bool = True
    embedded: tuple[str, ...] = ()
    """Names of the embedded structs that contain the field."""
    number: int = 0
    """Number in Protobuf, 0 without one."""


_Step = tuple[str, GoType, type | None, bool, bool]
"""What Struct.canonical does with a field: its name, type, its `plain`, whether a false value of that is omitted, and an empty one."""


def _step(field: Field) -> _Step:
    go_type, omit_empty = field.type, field.omit_empty
    return field.name, go_type, go_type.plain, omit_empty and not isinstance(go_type, Pointer), omit_empty


class Struct(GoType):
    """A struct; fields match by their exact names."""

    __slots__ = ("_plans", "by_name", "rank", "required", "struct")

    def __init__(self, struct: str, package: str = "v1") -> None:
        super().__init__(f"{package}.{struct}")
        self.struct = struct
        self.by_name: dict[str, Field] = {}
        self.rank: dict[str, int] = {}
        self.required: tuple[Field, ...] = ()
        self._plans: dict[tuple[str, ...], tuple[_Step, ...]] = {}

    def define(self, *fields: Field) -> Struct:
        """Set the fields in the struct's order and return the struct.

        Separate from construction because types refer to themselves.
        """
        self.by_name = {field.name: field for field in fields}
        self.rank = {field.name: index for index, field in enumerate(fields)}
        self.required = tuple(field for field in fields if not field.omit_empty)
        return self

    def check(self, value: Any, decoder: Decoder) -> None:
        if value is None:
            return
        if not isinstance(value, dict):
            decoder.mismatch(value, self.name)
            return
        struct, fields, path, by_name = decoder.struct, decoder.fields, decoder.path, self.by_name
        for name, item in value.items():
            field = by_name.get(name)
            if field is None:
                decoder.unknown(name)
                continue
            if item.__class__ is field.type.plain:
                continue
            decoder.struct = self.struct
            decoder.fields = (*fields, *field.embedded, name)
            decoder.path = path, f".{name}"
            field.type.check(item, decoder)
            decoder.struct, decoder.fields, decoder.path = struct, fields, path

    def canonical(self, value: Any) -> Any:
        given = value if isinstance(value, dict) else {}
        keys, out = tuple(given), {}
        for name, go_type, plain, omits_false, omit_empty in self._plans.get(keys) or self._plan(keys):
            item = given.get(name)
            if item.__class__ is plain:
                if item or not omits_false:
                    out[name] = item
                continue
            # no frame for pointers, since schemas nest deeply
            item = (go_type.to if item is not None and isinstance(go_type, Pointer) else go_type).canonical(item)
            if not omit_empty or not go_type.empty(item):
                out[name] = item
        return out

    def _plan(self, keys: tuple[str, ...]) -> tuple[_Step, ...]:
        """Return the fields to write for an object with some keys, in the struct's order. Keep them: objects have few sets of keys."""
        rank = self.rank
        names = [name for name in keys if name in rank]
        is_known = len(names) == len(keys) <= _MAX_PLANNED
        names += [field.name for field in self.required if field.name not in names]
        names.sort(key=rank.__getitem__)
        plan = tuple(_step(self.by_name[name]) for name in names)
        if is_known and len(self._plans) < _MAX_PLANS:
            self._plans[keys] = plan
        return plan

    def order(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the canonical members in the struct's order."""
        return {name: value[name] for name in sorted(value, key=self.rank.__getitem__)}

    def empty(self, value: Any) -> bool:
        return False


class CompositeStruct(Struct):
    """A struct with embedded structs that have messages of their own in Protobuf. In JSON their fields are its own."""

    __slots__ = ("embedded", "path")

    def __init__(self, struct: str, package: str, path: str) -> None:
        super().__init__(struct, package)
        self.path = path
        """The package's path and the name, such as core/v1.Pod."""
        self.embedded: tuple[tuple[int, Struct], ...] = ()
        """The embedded structs and their numbers. `by_name` has their fields without numbers."""


def promoted(embedded: Struct, name: str) -> Iterator[Field]:
    """Yield the fields of an embedded struct. Its own message has their numbers."""
    for field in embedded.by_name.values():
        yield Field(field.name, field.type, omit_empty=field.omit_empty, embedded=(name, *field.embedded))
