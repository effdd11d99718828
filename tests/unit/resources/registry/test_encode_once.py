"""Objects are serialized once: the stored bytes with a resourceVersion are the response."""

import copy
import random
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_codec
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.registry.customresources.codec import CustomResourceCodec
from apiext.schema.compiled import CompiledSchema
from apiext.schema.embedded_metadata import CoercionError
from apiext.storage.interface import EncodedObject
from hack.lib.differential.generated_objects import generate_resource, mutate
from tests.support.builders.crds import widget
from tests.support.builders.random_schemas import random_schema
from tests.support.builders.seeds import seeded
from tests.unit.resources.registry.conftest import KIND, schema

SHAPE = schema(
    size={"type": "string", "default": "small"},
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    weight={"type": "number", "nullable": True},
    ports={"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer", "default": 80}}}},
    limits={"type": "object", "additionalProperties": {"type": "integer"}},
)


def _codec(shape: CompiledSchema, storage_version: str = "v1") -> CustomResourceCodec:
    shapes = {"v1": shape, storage_version: shape}
    return CustomResourceCodec(kind=KIND, storage_version=storage_version, schemas=shapes, converter=NoneConverter(), namespaced=True)


def _widget(**spec: Any) -> dict[str, Any]:
    metadata = {"uid": "u", "generation": 1, "resourceVersion": "5", "selfLink": "/x"}
    return widget(metadata=metadata, size="big", **spec)


@pytest.mark.parametrize(
    "obj",
    [
        _widget(color="red", replicas=2),
        _widget(ports=[{"port": 1}, {"port": 2}], tags=["a", "b"], limits={"cpu": 1}),
        _widget() | {"status": {"replicas": 1}},
    ],
)
def test_tells_where_a_canonical_object_takes_its_revision(obj: dict[str, Any]) -> None:
    """Encode an object that decoding would not change together with the place of its resourceVersion."""
    encoded = _codec(SHAPE).encode(obj)

    assert encoded.revision_at > 0
    assert encoded.data == json_codec.dumps(_stored(obj)) + b"\n"
    assert _at(encoded, 9) == json_codec.dumps(_stored(obj, resourceVersion="9"))
    assert obj["metadata"]["resourceVersion"] == "5"


@pytest.mark.parametrize(
    "obj",
    [
        _widget(ports=[{}]),
        _widget(unknown=1),
        _widget(color=None),
        _widget(weight=1.0),
        _widget(weight=None),
        _widget(free={"a": 1}),
        _widget(limits={"cpu": {"x": 1}}),
        _widget() | {"spec": {}},
        _widget() | {"metadata": {"name": "a", "uid": "u"}},
        _widget() | {"metadata": {"name": "a", "generation": 1}},
        _widget() | {"metadata": {"name": "a", "uid": "u", "generation": 1, "labels": {}}},
        _widget() | {"kind": "Gadget"},
    ],
)
def test_leaves_any_other_object_to_decoding(obj: dict[str, Any]) -> None:
    """Name no place where decoding might change something."""
    assert _codec(SHAPE).encode(obj).revision_at < 0


def test_leaves_an_object_of_another_storage_version_to_decoding() -> None:
    """Name no place where the stored bytes are of another version."""
    assert _codec(SHAPE, "v2").encode(_widget()).revision_at < 0


def test_ignores_a_revision_in_the_content() -> None:
    """Find the place in the metadata though other members look like one."""
    obj = _widget(free={}) | {"metadata": _widget()["metadata"] | {"annotations": {"resourceVersion": '"resourceVersion":"5",'}}}
    encoded = _codec(SHAPE).encode(obj)

    if encoded.revision_at >= 0:
        assert _at(encoded, 7) == json_codec.dumps(_stored(obj, resourceVersion="7"))


@pytest.mark.parametrize("fields", [{"f:a": {}}, {"f:a": {"f:b": {".": {}}}}, {"f:a": 1.0}, {"f:a": {"f:b": [1e-7]}}])
def test_writes_numbers_as_go_in_field_sets(fields: dict[str, Any]) -> None:
    """Write floats in fieldsV1 in Go's form, which no field manager makes."""
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    obj = _widget() | {"metadata": _widget()["metadata"] | {"managedFields": [entry]}}
    encoded = _codec(SHAPE).encode(obj)

    assert encoded.revision_at > 0
    assert encoded.data == json_codec.dumps(_stored(obj)) + b"\n"


def _stored(obj: dict[str, Any], **more: str) -> dict[str, Any]:
    metadata = {name: member for name, member in obj["metadata"].items() if name not in {"resourceVersion", "selfLink"}}
    return {**obj, "metadata": metadata | more}


def _at(encoded: EncodedObject, revision: int) -> bytes:
    """Return the JSON of an encoded object with a resourceVersion."""
    place = encoded.revision_at
    return encoded.data[:place] + b'"resourceVersion":"%d",' % revision + encoded.data[place:-1]


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32), changes=st.integers(0, 3))
def test_decodes_bodies_on_the_fast_path(seed: int, changes: int) -> None:
    """Decode a body to the result of coercion and defaulting, also on the fast path."""
    rng = seeded(seed)
    shape = CompiledSchema(json_codec.loads(json_codec.dumps(random_schema(rng))))
    obj = _random_object(shape, rng, changes)
    for _ in range(2):
        expected = copy.deepcopy(obj)
        try:
            unknown = shape.coerce(expected, report=True)
        except CoercionError:
            # embedded metadata of a wrong type, which both refuse
            reject()
        shape.default(expected)

        assert _codec(shape).decode_body(obj, True) == [f'unknown field "{path}"' for path in unknown]
        assert obj == expected


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32), changes=st.integers(0, 3))
def test_encoding_equals_decoding(seed: int, changes: int) -> None:
    """Render the same JSON from encoding as from decoding, for random objects and schemas."""
    rng = seeded(seed)
    shape = CompiledSchema(json_codec.loads(json_codec.dumps(random_schema(rng))))
    codec = _codec(shape)
    obj = _random_object(shape, rng, changes)
    decoded = copy.deepcopy(obj)
    shape.coerce(decoded, drop_invalid=True)
    shape.default(decoded)
    for each in (obj, decoded):
        before = json_codec.dumps(each)
        encoded = codec.encode(each)
        decoded_again = codec.decode(encoded.data)
        decoded_again["metadata"]["resourceVersion"] = "3"

        assert encoded.revision_at < 0 or _at(encoded, 3) == json_codec.dumps(decoded_again)
        assert json_codec.dumps(each) == before


def _random_object(shape: CompiledSchema, rng: random.Random, changes: int) -> dict[str, Any]:
    """Return an object that more or less matches a schema."""
    obj = generate_resource(shape.structural.raw, rng, api_version=KIND.api_version, kind=KIND.kind)
    for _ in range(changes):
        changed = mutate(obj, shape.structural.raw, rng)
        obj = changed if isinstance(changed, dict) else obj
    head = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": "a", "uid": "u", "generation": 1}}
    mixed: dict[str, Any] = json_codec.loads(json_codec.dumps({**obj, **head}))
    return mixed
