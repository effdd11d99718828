"""Applies defaults to all structs inside an object, as the reference's generated defaulters do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_values
from apiext.base.meta.generated.go_types import declared_defaults
from apiext.base.meta.golang.composite_struct import CompositeStruct
from apiext.base.meta.golang.type_model import Map, Pointer, Slice
from apiext.resources.registry.generated import networking_defaults, pod_defaults, storage_defaults, workload_defaults

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.golang.type_model import GoType


_HTTPS: Final = 443


def _service(service: Object) -> None:
    service.setdefault("port", _HTTPS)


DEFAULTS: Final = {"kube-aggregator/pkg/apis/apiregistration/v1.ServiceReference": _service}
"""Defaults by struct."""


Default = Callable[["Object"], None]
"""Sets the defaults of one struct in its canonical form, in place."""

_DEFAULTS: Final[dict[str, Default]] = {
    **pod_defaults.DEFAULTS,
    **workload_defaults.DEFAULTS,
    **networking_defaults.DEFAULTS,
    **storage_defaults.DEFAULTS,
    **DEFAULTS,
}


class _Shape(Enum):
    """How a field contains structs."""

    STRUCT = auto()
    LIST = auto()
    MAP = auto()


@dataclass(slots=True, eq=False)
class _Plan:
    """The defaults of a struct, then those of the structs in its fields."""

    defaults: list[Default] = field(default_factory=list)
    fields: list[tuple[str, _Shape, _Plan]] = field(default_factory=list)

    def apply(self, obj: Object) -> None:
        for default in self.defaults:
            default(obj)
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


def default_of(struct: CompositeStruct) -> Default | None:
    """Return the defaults of a kind in its canonical form, None if it has none."""
    plan = _plan(struct)
    return plan.apply if plan is not None else None


@cache
def _plan(struct: CompositeStruct) -> _Plan | None:
    """Return the plan of a struct, None if nothing in it has defaults."""
    plan = _Plan(_own(struct))
    for name, each in struct.by_name.items():
        shape, inner = _inner(each.type)
        below = _plan(inner) if inner is not None else None
        if below is not None:
            plan.fields.append((name, shape, below))
    return plan if plan.defaults or plan.fields else None


def _own(struct: CompositeStruct) -> list[Default]:
    """Return the defaults of a struct and of its embedded ones, whose fields are its own."""
    found = [_DEFAULTS[struct.path]] if struct.path in _DEFAULTS else []
    declared = declared_defaults(struct.path)
    if declared:
        found.append(_declared(declared))
    for _, embedded in struct.embedded:
        if isinstance(embedded, CompositeStruct):
            found += _own(embedded)
    return found


def _declared(declared: dict[str, Any]) -> Default:
    def default(obj: Object) -> None:
        for name, value in declared.items():
            if obj.get(name) is None:
                obj[name] = json_values.copy(value)

    return default


def _inner(go_type: GoType) -> tuple[_Shape, CompositeStruct | None]:
    """Return the struct that a field contains, and how."""
    if isinstance(go_type, Pointer):
        return _inner(go_type.to)
    shape, item = _Shape.STRUCT, go_type
    if isinstance(go_type, Slice | Map):
        shape, item = _Shape.LIST if isinstance(go_type, Slice) else _Shape.MAP, go_type.of
    return shape, item if isinstance(item, CompositeStruct) else None
