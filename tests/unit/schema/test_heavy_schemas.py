"""Schemas that are large where an object is small."""

import copy
from contextlib import nullcontext
from typing import Any

import pytest

from apiext.base.scheduling.inline_work import HeavyWorkError, InlineWork
from apiext.resources.managedfields.structural_types import from_schema
from apiext.schema import model
from apiext.schema.compiled import CompiledSchema
from apiext.schema.defaulting import prune

_TEXT = {"type": "string"}
_NAMES = [f"k{number}" for number in range(3_000)]
_NUMBERS = list(range(60_000))
_OBJECT = {"type": "object", "properties": {"k": {"type": "integer"}}}


@pytest.mark.parametrize(
    "schema, obj, errors",
    [
        ({"type": "object", "properties": dict.fromkeys(_NAMES, _TEXT)}, {"k0": "x"}, 0),
        ({"type": "object", "anyOf": [{"required": [name]} for name in _NAMES]}, {"k0": "x"}, 0),
        ({"type": "object", "required": _NAMES, "properties": {"a": _TEXT}}, {}, 3_000),
        ({"type": "object", "properties": {"a": {"type": "array", "items": _TEXT}}}, {"a": [*("x" * 3_000), 1]}, 1),
        ({"type": "object", "properties": {"a": {**_TEXT, "enum": [f"v{number}" for number in _NUMBERS]}}}, {"a": "v1"}, 0),
        ({"type": "object", "properties": {"a": {"type": "integer", "enum": _NUMBERS}}}, {"a": -1}, 1),
        ({"type": "object", "properties": {"a": {**_OBJECT, "enum": [{"k": number} for number in _NUMBERS]}}}, {"a": {"k": -1}}, 1),
        ({"type": "object", "properties": {"a": {**_OBJECT, "enum": [{"k": 1, "x": _NUMBERS}]}}}, {"a": {"k": 1}}, 1),
        ({"type": "object", "properties": {"a": {**_TEXT, "enum": _NAMES * 2}}}, {"a": "none"}, 1),
        ({"type": "object", "properties": {"a": {**_TEXT, "enum": ["x" * 300_000]}}}, {"a": "none"}, 1),
        (
            {"type": "object", "properties": {name: {**_TEXT, "enum": _NAMES[:300]} for name in _NAMES[:50]}},
            dict.fromkeys(_NAMES[:50], "x"),
            50,
        ),
    ],
    ids=["properties", "anyOf", "required", "report", "texts", "integers", "objects", "large value", "message", "long text", "messages"],
)
def test_leave_the_event_loop(schema: dict[str, Any], obj: dict[str, Any], errors: int) -> None:
    """Stop a validation that takes long, so that it starts again elsewhere, and let it end there."""
    compiled = CompiledSchema(schema)
    with InlineWork(), pytest.raises(HeavyWorkError):
        compiled.validate_values(obj)

    assert len(compiled.validate_values(obj)) == errors
    with InlineWork(trusting=True):
        assert len(compiled.validate_values(obj)) == errors


_DEFAULTS: dict[str, dict[str, Any]] = {
    "list": {"a": {"type": "array", "items": {"type": "integer"}, "default": _NUMBERS}},
    "map": {"a": {"type": "object", "additionalProperties": _TEXT, "default": dict.fromkeys(map(str, _NUMBERS), "x")}},
    "many": {name: {**_TEXT, "default": "x"} for name in _NAMES},
    "items": {
        "a": {
            "type": "array",
            "items": {"type": "object", "properties": {"b": {"type": "array", "items": {"type": "integer"}, "default": _NUMBERS[:500]}}},
        }
    },
    "nulls": {"a": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}, "default": _NUMBERS[:500]}}},
}


@pytest.mark.parametrize("special", [{}, {"more": {"type": "object", "x-kubernetes-embedded-resource": True}}], ids=["fast", "slow"])
@pytest.mark.parametrize("name", _DEFAULTS)
def test_defaults_leave_the_event_loop(name: str, special: dict[str, Any]) -> None:
    """Stop the setting of defaults that are large or many, and set them elsewhere."""
    compiled = CompiledSchema({"type": "object", "properties": {**_DEFAULTS[name], **special}})
    special_members: dict[str, dict[str, Any]] = {"items": {"a": [{} for _ in range(50)]}, "nulls": {"a": [None] * 50}}
    members = special_members.get(name, {})
    obj = {"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}, **members}

    filled: dict[str, Any] = {}
    for attempt in range(2):
        # many small defaults are soon copied once they are pruned
        with InlineWork(), pytest.raises(HeavyWorkError) if name != "many" or not attempt else nullcontext():
            compiled.coerce(copy.deepcopy(obj), defaults=True)
        filled = copy.deepcopy(obj)
        compiled.coerce(filled, defaults=True)

    expected = {"items": [{"b": _NUMBERS[:500]}] * 50, "nulls": [_NUMBERS[:500]] * 50}.get(name)
    assert filled["a" if name != "many" else "k2999"] == (expected or _DEFAULTS[name]["a" if name != "many" else "k2999"]["default"])


def test_a_default_is_pruned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prune the default that stands for nulls once, not for each of them."""
    pruned: list[Any] = []
    prune_node = prune.pruned_default

    def count(node: model.Structural) -> Any:
        pruned.append(node)
        return prune_node(node)

    monkeypatch.setattr(prune, "pruned_default", count)
    compiled = CompiledSchema({"type": "object", "properties": _DEFAULTS["nulls"]})

    compiled.default({"a": [None] * 50})

    assert len(pruned) == 1


def test_many_properties_are_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat an object of many properties as one of few, and make the nodes of those only that it has."""
    properties = {
        **dict.fromkeys(_NAMES, _TEXT),
        "n": {"type": "object", "nullable": True, "properties": {"a": {"type": "integer", "default": 1}}},
        "d": {"type": "object", "default": {"a": 1, "b": 2}, "properties": {"a": {"type": "integer"}}},
        "s": {"type": "array", "x-kubernetes-list-type": "set", "items": _TEXT},
    }
    obj = {"k1": "x", "n": {"z": 1}, "s": ["a", "a"], "unknown": 1, "k2": None}
    whole = {"apiVersion": "a/v1", "kind": "A", "metadata": {"name": "a"}, "spec": obj}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}

    def outcome() -> tuple[Any, ...]:
        compiled, decoded = CompiledSchema(schema), copy.deepcopy(whole)
        unknown = compiled.coerce(decoded, defaults=True, report=True)
        found = compiled.structural.properties["spec"].properties
        return unknown, decoded, list(map(str, compiled.validate_lists(decoded))), list(found), len(found), "k9" in found, found.get("none")

    many = outcome()
    nodes = CompiledSchema(schema).structural.properties["spec"].properties
    monkeypatch.setattr(model, "MANY_PROPERTIES", 10_000)

    assert outcome() == many
    assert many[0] == ["spec.n.z", "spec.unknown"]
    assert nodes["k1"] is nodes.get("k1")
    assert nodes["n"].steps == ["spec", "n"]
    with pytest.raises(KeyError):
        nodes["none"]


def test_types_of_many_fields_leave_the_event_loop() -> None:
    """Stop the field management of an object with very many declared fields, and let it go on elsewhere."""
    fields = from_schema(CompiledSchema({"type": "object", "properties": dict.fromkeys(_NAMES, _TEXT)}).structural).map
    assert fields is not None

    with InlineWork(), pytest.raises(HeavyWorkError):
        _ = fields.fields

    assert len(fields.fields) == len(_NAMES) + 3
