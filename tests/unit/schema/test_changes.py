"""An update is checked only where it differs from a valid object, with the result of a check of the whole."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import share
from apiext.schema.compiled import CompiledSchema
from hack.lib.differential.generated_objects import generate_resource, mutate
from hack.lib.real_crds import NO_REAL, REAL, real_crds
from tests.support.builders.random_schemas import random_schema
from tests.support.builders.seeds import seeded

API_VERSION, KIND = "example.com/v1", "Widget"
CHANGES = 6
"""Changed objects of each version of each real definition."""


def _decoded(schema: CompiledSchema, obj: Any) -> Any:
    """Return an object after decoding, None if that is impossible."""
    try:
        schema.coerce(obj, defaults=True)
    except ValueError:
        return None
    return obj


def _is_checked(schema: CompiledSchema, obj: dict[str, Any]) -> bool:
    return schema.is_canonical(obj) and schema.is_valid(obj) and schema.is_checked(obj)


def _assert_agreement(raw: dict[str, Any], obj: dict[str, Any], changed: dict[str, Any]) -> bool:
    """Assert that a changed object gets the same answers whether it is known of what it was made; return whether that was known."""
    known, whole = CompiledSchema(raw), CompiledSchema(raw)
    if not _is_checked(known, obj):
        return False
    before, expected = json_codec.dumps(obj), _decoded(whole, copy.deepcopy(changed))
    share(changed, obj)
    known.recall(obj)
    found = _decoded(known, changed)

    assert found == expected
    if expected is not None:
        answers = [_answers(schema, decoded) for schema, decoded in ((known, found), (whole, expected), (CompiledSchema(raw), expected))]
        assert answers[0] == answers[1] == answers[2]
    assert json_codec.dumps(obj) == before
    return True


def _answers(schema: CompiledSchema, obj: dict[str, Any]) -> tuple[bool, ...]:
    return schema.is_valid(obj), schema.is_canonical(obj), schema.is_surely_typed(obj), schema.is_valid(obj)


@pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)
def test_agrees_on_real_definitions() -> None:
    """Agree on changes of objects of real definitions."""
    checked = 0
    for crd in real_crds():
        for version in crd["spec"]["versions"]:
            raw, rng = version["schema"]["openAPIV3Schema"], seeded(f"{crd['metadata']['name']}{version['name']}")
            obj: Any = generate_resource(raw, rng, api_version=API_VERSION, kind=KIND)
            obj = _decoded(CompiledSchema(raw), json_codec.loads(json_codec.dumps(obj)))
            changed = obj
            for _ in range(CHANGES):
                changed = mutate(changed, raw, rng)
                if obj is not None and isinstance(changed, dict):
                    checked += _assert_agreement(raw, obj, json_codec.loads(json_codec.dumps(changed)))

    assert checked > 0


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32), changes=st.integers(0, 4))
def test_agrees_on_random_schemas(seed: int, changes: int) -> None:
    """Agree on changes of objects of random schemas."""
    rng = seeded(seed)
    raw = json_codec.loads(json_codec.dumps({**random_schema(rng), "type": "object"}))
    obj = _decoded(CompiledSchema(raw), json_codec.loads(json_codec.dumps(generate_resource(raw, rng, api_version=API_VERSION, kind=KIND))))
    changed: Any = obj
    for _ in range(changes):
        changed = mutate(changed, raw, rng)
    if obj is not None and isinstance(changed, dict):
        _assert_agreement(raw, obj, json_codec.loads(json_codec.dumps(changed)))


def test_a_required_member_that_goes_is_missed() -> None:
    """Find a member missing that the valid object had."""
    raw = {"type": "object", "properties": {"spec": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}}}
    schema, head = CompiledSchema(raw), {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "a"}}
    schema.recall({**head, "spec": {"a": "x", "b": "y"}})

    assert not schema.is_valid({**head, "spec": {}})
    assert schema.is_valid({**head, "spec": {"a": "z"}})


def test_only_what_changed_is_checked() -> None:
    """Leave out members that the valid object has too."""
    schema = CompiledSchema({"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "array"}}}}})
    head, unchecked = {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": "a"}}, ["not", object()]
    schema.recall({**head, "spec": {"a": unchecked}})

    assert schema.is_valid({**head, "spec": {"a": unchecked}})
    assert schema.is_checked({**head, "spec": {"a": unchecked}}) is False
