"""The compiled validator compared with an independent one, on real definitions and on random schemas."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.field import Path
from apiext.schema.canonical import complete, supports
from apiext.schema.compiled import CompiledSchema
from apiext.schema.defaulting.algorithm import prune_non_nullable_nulls_without_defaults
from apiext.schema.defaulting.validation import default_errors
from apiext.schema.field_path import DottedPath
from apiext.schema.model import Structural, unsupported_field
from apiext.schema.pruning import META_FIELDS, prune
from apiext.schema.shared_pruning import SharedPruning
from apiext.schema.structural import structural_errors
from apiext.schema.validation.spec import Spec
from hack.lib.differential.generated_objects import generate, generate_resource, mutate
from hack.lib.real_crds import NO_REAL, REAL, real_crds
from tests.support import schema_oracle
from tests.support.builders.random_schemas import plain_schema, random_schema
from tests.support.builders.seeds import seeded

OBJECTS = 12
"""Objects generated for each version of each real definition; a third of them is not mutated."""


def _versions() -> Iterator[Any]:
    for crd in real_crds() if REAL.is_dir() else ():
        for version in crd["spec"]["versions"]:
            name = f"{crd['metadata']['name']}/{version['name']}"
            yield pytest.param(crd, version["name"], version["schema"]["openAPIV3Schema"], id=name)


VERSIONS = list(_versions())


def _assert_agreement(schema: Mapping[str, Any], value: Any) -> bool:
    """Assert that the oracle, the compiled check and the report agree, and prune alike; return whether the value is valid."""
    valid, before = schema_oracle.is_valid(schema, value), copy.deepcopy(value)
    errors = [str(error) for error in CompiledSchema(schema).validate_values(value)]
    remains = copy.deepcopy(value)
    paths = prune(remains, Structural(schema).as_resource())

    assert valid == (errors == []), errors
    assert valid == Spec(schema, served=True).report(value, DottedPath()).is_valid
    assert schema_oracle.pruned(schema, value, resource=True) == remains
    assert (value == remains) == (paths == [])

    structural, coerced = Structural(schema), copy.deepcopy(remains)
    prune_non_nullable_nulls_without_defaults(coerced, structural)

    if supports(structural) and complete(copy.deepcopy(value), structural, defaults=False):
        assert _outside_metadata(coerced) == _outside_metadata(value)
    shared = value.copy()
    is_pruned = SharedPruning(structural).apply(shared)
    assert _outside_metadata(shared) == _outside_metadata(coerced)
    assert is_pruned == (_outside_metadata(coerced) == _outside_metadata(before))
    assert value == before
    _assert_equal_ways(schema, value)
    return valid


def _assert_equal_ways(schema: Mapping[str, Any], value: Any) -> None:
    """Assert that coercion with defaults does what coercion and defaulting do."""
    compiled, at_once, in_turn = CompiledSchema(schema), copy.deepcopy(value), copy.deepcopy(value)
    if not isinstance(value.get("metadata", {}), dict):
        return
    unknown = compiled.coerce(in_turn, drop_invalid=True, report=True)
    compiled.default(in_turn)

    assert compiled.coerce(at_once, defaults=True, drop_invalid=True, report=True) == unknown
    assert at_once == in_turn


def _outside_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in obj.items() if name not in META_FIELDS}


@pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)
@pytest.mark.parametrize("crd, version, schema", VERSIONS)
def test_agrees_on_real_definitions(crd: dict[str, Any], version: str, schema: dict[str, Any]) -> None:
    """Agree on objects generated from a real schema and on mutated ones."""
    rng = seeded(f"{crd['metadata']['name']}{version}")
    valid = 0
    for index in range(OBJECTS):
        api_version = f"{crd['spec']['group']}/{version}"
        obj: Any = generate_resource(schema, rng, api_version=api_version, kind=crd["spec"]["names"]["kind"])
        for _ in range(index % 3):
            obj = mutate(obj, schema, rng)
        if isinstance(obj, dict):
            valid += _assert_agreement(schema, json_codec.loads(json_codec.dumps(obj)))

    assert valid > 0


@pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)
@pytest.mark.parametrize("schema", [pytest.param(each.values[2], id=each.id) for each in VERSIONS])
def test_real_definitions_are_structural(schema: dict[str, Any]) -> None:
    """Return no structural error and no error of a default for real schemas."""
    assert unsupported_field(schema) == ""
    assert structural_errors(schema, Path()) == []
    assert default_errors(schema, Path(), require_pruned=True) == []


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32), changes=st.integers(0, 6))
def test_agrees_on_random_schemas(seed: int, changes: int) -> None:
    """Agree on random schemas and on objects generated for them."""
    rng = seeded(seed)
    schema = json_codec.loads(json_codec.dumps(plain_schema(rng)))
    value = generate(schema, rng)
    for _ in range(changes):
        value = mutate(value, schema, rng)
    if isinstance(value, dict):
        _assert_agreement(schema, json_codec.loads(json_codec.dumps(value)))


@settings(max_examples=200)
@given(seed=st.integers(0, 2**32), changes=st.integers(0, 6))
def test_check_and_report_agree(seed: int, changes: int) -> None:
    """Agree between the compiled check and the report on every schema."""
    rng = seeded(seed)
    schema = json_codec.loads(json_codec.dumps(random_schema(rng)))
    value = generate(schema, rng)
    for _ in range(changes):
        value = mutate(value, schema, rng)
    value = json_codec.loads(json_codec.dumps({"": value}))[""]
    if isinstance(value, dict):
        errors = CompiledSchema(schema).validate_values(value)

        assert Spec(schema, served=True).report(value, DottedPath()).is_valid == (errors == [])


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32), changes=st.integers(0, 4))
def test_decoding_is_idempotent(seed: int, changes: int) -> None:
    """Change nothing when an object is coerced or defaulted again."""
    rng = seeded(seed)
    compiled = CompiledSchema(json_codec.loads(json_codec.dumps(random_schema(rng))))
    raw = compiled.structural.raw
    value = generate(raw, rng)
    for _ in range(changes):
        value = mutate(value, raw, rng)
    if not isinstance(value, dict):
        return
    once = json_codec.loads(json_codec.dumps(value))
    compiled.coerce(once, drop_invalid=True)
    twice = copy.deepcopy(once)

    assert compiled.coerce(twice, drop_invalid=True, report=True) == []
    assert twice == once

    compiled.default(once)
    twice = copy.deepcopy(once)
    compiled.default(twice)

    assert twice == once
