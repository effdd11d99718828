"""What has just been written is not parsed again where the object shows that it would be the same."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from apiext.conversion.none import NoneConverter
from apiext.meta import json_codec
from apiext.registry.customresource_codec import CustomResourceCodec
from apiext.schema.compiled import CompiledSchema
from apiext.schema.objectmeta.algorithm import CoercionError
from tests.support.builders.generated_objects import generate_resource, mutate
from tests.support.builders.random_schemas import random_schema
from tests.support.builders.seeds import seeded
from tests.unit.registry.conftest import KIND, schema

SHAPE = schema(
    size={"type": "string", "default": "small"},
    free={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    weight={"type": "number", "nullable": True},
    ports={"type": "array", "items": {"type": "object", "properties": {"port": {"type": "integer", "default": 80}}}},
    limits={"type": "object", "additionalProperties": {"type": "integer"}},
)


def _codec(shape: CompiledSchema, storage_version: str = "v1") -> CustomResourceCodec:
    shapes = {"v1": shape, storage_version: shape}
    return CustomResourceCodec(kind=KIND, storage_version=storage_version, shapes=shapes, converter=NoneConverter(), namespaced=True)


def _widget(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "a", "generation": 1, "resourceVersion": "5", "selfLink": "/x"}
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata, "spec": {"size": "big", **spec}}


@pytest.mark.parametrize(
    "obj",
    [
        _widget(color="red", replicas=2),
        _widget(ports=[{"port": 1}, {"port": 2}], tags=["a", "b"], limits={"cpu": 1}),
        _widget() | {"status": {"replicas": 1}},
    ],
)
def test_an_object_in_shape_is_not_parsed(obj: dict[str, Any]) -> None:
    """It is what it was, at no revision yet, and the caller's own."""
    again = _codec(SHAPE).reread(obj, b"not looked at")
    again["metadata"]["resourceVersion"] = "9"

    assert again == {**obj, "metadata": {"name": "a", "generation": 1, "resourceVersion": "9"}}
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
        _widget() | {"metadata": {"name": "a"}},
        _widget() | {"metadata": {"name": "a", "generation": 1, "labels": {}}},
        _widget() | {"apiVersion": "example.com/v2"},
        _widget() | {"kind": "Gadget"},
    ],
)
def test_any_other_object_is_parsed(obj: dict[str, Any]) -> None:
    """Where decoding may change something, it is done."""
    data = b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"stored"}}'

    assert _codec(SHAPE).reread(obj, data)["metadata"]["name"] == "stored"


def test_what_is_stored_in_another_version_is_parsed() -> None:
    """Conversion has its say."""
    with pytest.raises(ValueError, match="invalid literal"):
        _codec(SHAPE, "v2").reread(_widget(), b"not JSON")


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32), changes=st.integers(0, 3))
def test_bodies_in_shape(seed: int, changes: int) -> None:
    """Decoding a body, and then again, does what coercion and defaulting do, also where a look spares them."""
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
def test_rereading_is_decoding(seed: int, changes: int) -> None:
    """For any object of any schema, in shape or not, the bytes for the client are the same."""
    rng = seeded(seed)
    shape = CompiledSchema(json_codec.loads(json_codec.dumps(random_schema(rng))))
    codec = _codec(shape)
    obj = _random_object(shape, rng, changes)
    decoded = copy.deepcopy(obj)
    shape.coerce(decoded, drop_invalid=True)
    shape.default(decoded)
    for each in (obj, decoded):
        data = codec.encode(each)
        before = json_codec.dumps(each)

        assert json_codec.dumps(_unversioned(codec.reread(each, data))) == json_codec.dumps(_unversioned(codec.decode(data)))
        assert json_codec.dumps(each) == before


def _random_object(shape: CompiledSchema, rng: random.Random, changes: int) -> dict[str, Any]:
    """An object more or less made for a schema."""
    obj = generate_resource(shape.structural.raw, rng, api_version=KIND.api_version, kind=KIND.kind)
    for _ in range(changes):
        changed = mutate(obj, shape.structural.raw, rng)
        obj = changed if isinstance(changed, dict) else obj
    head = {"apiVersion": KIND.api_version, "kind": KIND.kind, "metadata": {"name": "a", "generation": 1}}
    mixed: dict[str, Any] = json_codec.loads(json_codec.dumps({**obj, **head}))
    return mixed


def _unversioned(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {name: member for name, member in obj["metadata"].items() if name != "resourceVersion"}}
