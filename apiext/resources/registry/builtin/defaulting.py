"""Applies defaults to all structs inside an object, as the reference's generated defaulters do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from apiext.base.meta.encoding import json_values
from apiext.base.meta.generated.go_types import declared_defaults, struct_of
from apiext.base.meta.golang.struct_type import CompositeStruct
from apiext.base.meta.golang.type_model import Map, Pointer, Slice
from apiext.resources.registry.builtin.kind import BuiltinKind

if TYPE_CHECKING:
    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.golang.type_model import GoType
    from apiext.resources.registry.strategy import Strategy

Default = Callable[["Object"], None]
"""Sets the defaults of one struct in its canonical form, in place."""
StructDefault = Default | Mapping[str, Any]
"""What sets the defaults of one struct, or their values by field."""


class _Shape(Enum):
    """How a field contains structs."""

    STRUCT = auto()
    LIST = auto()
    MAP = auto()


@dataclass(slots=True, eq=False)
class _Plan:
    """The defaults of a struct, then those of the structs in its fields."""

    struct: CompositeStruct
    defaults: list[Default] = field(default_factory=list)
    fields: list[tuple[str, _Shape, _Plan]] = field(default_factory=list)

    def apply(self, obj: Object) -> None:
        size = len(obj)
        for default in self.defaults:
            default(obj)
        if len(obj) != size:
            ordered = self.struct.order(obj)
            obj.clear()
            obj.update(ordered)
        for name, shape, plan in self.fields:
            member = obj.get(name)
            if not member:
                if member is not None and shape is _Shape.STRUCT:
                    plan.apply(member)
            elif shape is _Shape.STRUCT:
                plan.apply(member)
            else:
                for item in member if shape is _Shape.LIST else member.values():
                    plan.apply(item)


class StructDefaults:
    """The defaults of kinds, from those of their structs."""

    def __init__(self, by_struct: Mapping[str, StructDefault]) -> None:
        """Keep the defaults of structs by path, such as core/v1.Pod."""
        self._by_struct = by_struct
        self._plans: dict[CompositeStruct, _Plan | None] = {}

    def of(self, struct: CompositeStruct) -> Default | None:
        """Return the defaults of a kind in its canonical form, None if it has none."""
        plan = self._plan(struct)
        return plan.apply if plan is not None else None

    def kind(self, resource: BuiltinResource, strategy: Strategy) -> BuiltinKind:
        """Return a kind with these defaults."""
        struct = struct_of(resource.kind)
        return BuiltinKind(resource=resource, struct=struct, strategy=strategy, default=self.of(struct))

    def _plan(self, struct: CompositeStruct) -> _Plan | None:
        """Return the plan of a struct, None if nothing in it has defaults."""
        if struct not in self._plans:
            plan = _Plan(struct, self._own(struct))
            for name, each in struct.by_name.items():
                shape, inner = _inner(each.type)
                below = self._plan(inner) if inner is not None else None
                if below is not None:
                    plan.fields.append((name, shape, below))
            self._plans[struct] = plan if plan.defaults or plan.fields else None
        return self._plans[struct]

    def _own(self, struct: CompositeStruct) -> list[Default]:
        """Return the defaults of a struct and of its embedded ones, whose fields are its own."""
        given = (self._by_struct.get(struct.path), declared_defaults(struct.path))
        found = [_declared(each) if isinstance(each, Mapping) else each for each in given if each]
        for _, embedded in struct.embedded:
            if isinstance(embedded, CompositeStruct):
                found += self._own(embedded)
        return found


def _declared(declared: Mapping[str, Any]) -> Default:
    def default(obj: Object) -> None:
        for name, value in declared.items():
            if obj.get(name) is None:
                obj[name] = json_values.copy(value) if isinstance(value, dict | list) else value

    return default


def _inner(go_type: GoType) -> tuple[_Shape, CompositeStruct | None]:
    """Return the struct that a field contains, and how."""
    if isinstance(go_type, Pointer):
        return _inner(go_type.to)
    shape, item = _Shape.STRUCT, go_type
    if isinstance(go_type, Slice | Map):
        shape, item = _Shape.LIST if isinstance(go_type, Slice) else _Shape.MAP, go_type.of
    return shape, item if isinstance(item, CompositeStruct) else None
