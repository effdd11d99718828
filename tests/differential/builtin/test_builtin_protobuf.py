"""Protobuf of built-in kinds: what apiext reads and writes is what the reference does."""

from typing import Any, Final

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.protobuf import kinds
from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Side, Step
from tests.differential.helpers.builtin_objects import BuiltinObject, builtin_differences, builtin_objects, remove

pytestmark = pytest.mark.slow

_JSON: Final = "application/json"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_MESSAGES: Final = {one.resource.kind: kinds.message_of(struct_of(one.resource.kind)) for one in builtin_objects()}


def _encoded(one: BuiltinObject) -> bytes:
    kind = one.resource.kind
    obj = struct_of(kind).canonical(one.obj)
    return kinds.dumps(kind.api_version, kind.kind, _MESSAGES[kind].write(obj))


def _shown(side: Side, one: BuiltinObject) -> tuple[dict[str, Any], bytes]:
    """Return one state of an object, which a controller may write, as canonical JSON and as Protobuf."""
    kind = one.resource.kind
    while True:
        before, data, after = (side.raw(Step("GET", one.path, headers={"Accept": accept}))[1] for accept in (_JSON, _PROTOBUF, _JSON))
        if before == after:
            return struct_of(kind).canonical(json_codec.loads(before)), data


@pytest.mark.parametrize("one", builtin_objects(), ids=lambda one: f"{one.resource.plural}-{one.name}")
def test_protobuf(builtin_pair: Pair, one: BuiltinObject) -> None:
    """Create an object in Protobuf; read it in Protobuf, with the bytes of the reference."""
    message, struct = _MESSAGES[one.resource.kind], struct_of(one.resource.kind)
    try:
        found = builtin_differences(builtin_pair, Step("POST", one.collection, _encoded(one), {"Content-Type": _PROTOBUF}))
        expected, data = _shown(builtin_pair.reference, one)
        _, our_data = builtin_pair.ours.raw(Step("GET", one.path, headers={"Accept": _PROTOBUF}))
    finally:
        remove(builtin_pair, one)
    theirs, ours = kinds.read(data, message), kinds.read(our_data, message)
    for template in expected.get("spec", {}).get("volumeClaimTemplates", ()):
        # Protobuf has the type of the whole object only
        del template["kind"], template["apiVersion"]

    assert not found, "\n".join(found)
    assert struct.canonical(theirs) == expected
    assert kinds.dumps(theirs["apiVersion"], theirs["kind"], message.write(expected)) == data
    for obj in (theirs, ours):
        # compared above in JSON; a controller of the reference writes the status of APIServices
        obj["metadata"].pop("managedFields")
        obj.pop("status", None)
    assert masked(ours) == masked(theirs)
