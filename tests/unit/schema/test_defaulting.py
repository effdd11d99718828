"""Defaulting of objects, removal of nulls and preparation of defaults."""

from typing import Any

import pytest

from apiext.schema.defaulting.algorithm import default, prune_non_nullable_nulls_without_defaults
from apiext.schema.defaulting.prune import has_unpruned_defaults, pruned_default
from apiext.schema.model import Structural

A = {"type": "string", "default": "A"}


def defaulted(schema: Any, value: Any) -> Any:
    """Return the value after defaulting."""
    default(value, Structural(schema))
    return value


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        pytest.param({}, None, None, id="nothing to do"),
        pytest.param({"default": "A"}, None, None, id="the root has no default"),
        pytest.param({"properties": {"a": A, "b": {}}}, {}, {"a": "A"}, id="absent property"),
        pytest.param({"properties": {"a": A}}, {"a": "B"}, {"a": "B"}, id="present property"),
        pytest.param({"properties": {"a": A}}, {"a": None}, {"a": "A"}, id="null that is not allowed"),
        pytest.param({"properties": {"a": {**A, "nullable": True}}}, {"a": None}, {"a": None}, id="null that is allowed"),
        pytest.param({"properties": {"a": {"properties": {"b": A}}}}, {}, {}, id="no object is made for nested defaults"),
        pytest.param({"properties": {"a": {"default": {}, "properties": {"b": A}}}}, {}, {"a": {"b": "A"}}, id="a default is defaulted"),
        pytest.param({"items": {"properties": {"a": A}}}, [{}, {"a": "B"}, 1], [{"a": "A"}, {"a": "B"}, 1], id="items"),
        pytest.param({"items": A}, [None, "B"], ["A", "B"], id="null item"),
        pytest.param({"items": {**A, "nullable": True}}, [None], [None], id="nullable item"),
        pytest.param({"additionalProperties": A}, {"k": None}, {"k": "A"}, id="null in a map"),
        pytest.param({"additionalProperties": {"properties": {"a": A}}}, {"k": {}}, {"k": {"a": "A"}}, id="objects in a map"),
        pytest.param({"properties": {"a": A}}, {"b": {}}, {"b": {}, "a": "A"}, id="unknown fields are left alone"),
        pytest.param({"properties": {"a": {"default": False}, "b": {"default": 0}}}, {}, {"a": False, "b": 0}, id="falsy defaults count"),
        pytest.param({"properties": {"a": {"default": None}}}, {}, {}, id="a null default is none"),
    ],
)
def test_sets_defaults(schema: Any, value: Any, expected: Any) -> None:
    """Set defaults for absent fields and forbidden nulls at any depth, and change nothing else."""
    assert expected == defaulted(schema, value)


def test_copies_defaults() -> None:
    """Keep a default unchanged when an object with a copy of it changes."""
    schema = Structural({"properties": {"a": {"type": "object", "default": {"b": [1]}, "x-kubernetes-preserve-unknown-fields": True}}})
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    default(first, schema)
    first["a"]["b"].append(2)
    default(second, schema)

    assert second == {"a": {"b": [1]}}


@pytest.mark.parametrize(
    "schema, value, expected",
    [
        pytest.param({"properties": {"a": {}}}, {"a": None, "b": None}, {"b": None}, id="known property"),
        pytest.param({"properties": {"a": A}}, {"a": None}, {"a": None}, id="a default will replace it"),
        pytest.param({"properties": {"a": {"nullable": True}}}, {"a": None}, {"a": None}, id="nullable"),
        pytest.param({"additionalProperties": {}}, {"a": None}, {}, id="map"),
        pytest.param({"items": {}}, [None], [None], id="items stay"),
        pytest.param({"items": {"properties": {"a": {}}}}, [{"a": None}], [{}], id="below items"),
        pytest.param({"properties": {"a": {"properties": {"b": {}}}}}, {"a": {"b": None}}, {"a": {}}, id="nested"),
    ],
)
def test_drops_idle_nulls(schema: Any, value: Any, expected: Any) -> None:
    """Drop a null member where null is not allowed and no default replaces it."""
    prune_non_nullable_nulls_without_defaults(value, Structural(schema))

    assert expected == value


def test_prunes_defaults_before_use() -> None:
    """Use a default of an old definition without its unknown fields."""
    schema = {"properties": {"a": {"type": "object", "default": {"b": "x", "c": "y"}, "properties": {"b": {"type": "string"}}}}}

    assert defaulted(schema, {}) == {"a": {"b": "x"}}
    assert has_unpruned_defaults(Structural(schema))


def test_coerces_defaults_of_embedded_metadata() -> None:
    """Coerce defaults inside metadata to ObjectMeta."""
    metadata = {"type": "object", "default": {"name": "n", "labels": {"a": 1}, "bogus": True}}
    schema = {"properties": {"e": {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"metadata": metadata}}}}

    assert defaulted(schema, {"e": {}}) == {"e": {"metadata": {"name": "n"}}}


def test_detects_unpruned_defaults() -> None:
    """Tell schemas with unpruned defaults from others."""
    assert not has_unpruned_defaults(Structural({"properties": {"a": {"default": {"b": 1}, "properties": {"b": {}}}}}))


def test_prunes_a_default_by_what_leads_to_it() -> None:
    """Look at no properties but those on the way to a default: with all of them, many defaults side by side would take long."""
    idle = {"type": "string"}
    part: dict[str, Any] = {"type": "object", "default": {"a": "A", "b": "B"}, "properties": {"a": idle}}
    items = {"type": "object", "properties": {"part": part, "idle": idle}}
    spec = {"type": "object", "properties": {"map": {"additionalProperties": {"items": items}}, "idle": idle}}
    node = Structural({"properties": {"spec": spec, "idle": idle}}).properties["spec"].properties["map"].additional
    assert node is not None
    assert node.items is not None
    found = node.items.properties["part"]

    way = {"map": {"properties": {}, "additionalProperties": {"properties": {}, "items": {"type": "object", "properties": {"part": part}}}}}
    assert found.surrounding().raw == {"properties": {"spec": {"type": "object", "properties": way}}}
    assert pruned_default(found) == {"a": "A"}
