"""The stored form of built-in kinds."""

import json
from typing import Any, Final

import pytest

from apiext.base.meta.builtin_resources import BuiltinResource
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.generated.resources import further_resources
from apiext.base.meta.golang.struct_type import Struct
from apiext.base.meta.golang.type_model import GoType, Map, Pointer, Slice
from apiext.resources.registry.builtin.kind import BuiltinKind, TypedCodec
from apiext.resources.registry.builtin.rbac import CLUSTER_ROLE_KIND, ROLE_KIND
from apiext.resources.registry.protobuf import kinds

RESOURCES: Final = [resource for group in further_resources(()) for resource in group.resources]
_LEVELS: Final = 8


def _value(go_type: GoType, levels: int) -> Any:
    """Return a value with empty lists at a depth, in structs, lists and maps; None for scalars."""
    if isinstance(go_type, Pointer):
        return _value(go_type.to, levels)
    if isinstance(go_type, Slice):
        item = _value(go_type.of, levels - 1) if levels > 0 and isinstance(go_type.of, Struct | Slice) else None
        return [] if item is None else [item]
    if isinstance(go_type, Map) and isinstance(go_type.of, Struct):
        return {"a": _value(go_type.of, levels - 1)}
    if not isinstance(go_type, Struct) or levels <= 0:
        return {} if isinstance(go_type, Struct) else None
    members = {name: _value(field.type, levels - 1) for name, field in go_type.by_name.items() if field.number}
    return {name: member for name, member in members.items() if member is not None}


@pytest.mark.parametrize("levels", [1, 3, _LEVELS])
@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: f"{resource.plural}")
def test_empty_lists(resource: BuiltinResource, levels: int) -> None:
    """Store an object as it comes back from Protobuf, in which the reference stores it: without empty lists."""
    struct = struct_of(resource.kind)
    codec = TypedCodec(gvk=resource.kind, struct=struct)
    obj = {"apiVersion": resource.kind.api_version, "kind": resource.kind.kind, **_value(struct, levels)}
    typed = struct.canonical(obj)
    stored = kinds.dumps(resource.kind.api_version, resource.kind.kind, kinds.message_of(struct).write(typed))

    assert json.loads(codec.encode(typed).data) == codec.decode(stored)


@pytest.mark.parametrize("kind", [CLUSTER_ROLE_KIND, ROLE_KIND], ids=["ClusterRole", "Role"])
def test_rules_are_stored_as_null(kind: BuiltinKind) -> None:
    """Keep an empty list of rules for admission, and store none."""
    obj: dict[str, Any] = {"metadata": {"name": "a"}, "rules": []}
    codec = kind.codec()
    codec.decode_body(obj, True)

    assert obj["rules"] == []
    assert json.loads(codec.encode(obj).data)["rules"] is None
    assert codec.decode(codec.encode(obj).data)["rules"] is None
