"""Conversion by rules where a spoke is the storage version: what it lacks is carried for the hub."""

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding.json_codec import Object
from apiext.resources.conversion.rules.building import build_rules
from apiext.resources.conversion.rules.converter import RulesConverter
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.conversions import conversion, fields, widget
from tests.support.conversion_rules import converter, scrambling

_NAMES = st.sampled_from(["name", "a", "b", "c"])
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "x", "1"])),
    lambda below: st.one_of(st.lists(below, max_size=4), st.dictionaries(_NAMES, below, max_size=4)),
    max_leaves=16,
)


def _to(found: RulesConverter, obj: Object, version: str) -> Object:
    return found.convert_inline(copy.deepcopy(obj), f"example.com/{version}")


@settings(max_examples=75, deadline=None)
@given(spec=st.dictionaries(_NAMES, _VALUES, max_size=4), seeds=st.lists(st.text("ab", max_size=3), min_size=4, max_size=4))
def test_a_spoke_as_storage_version(spec: dict[str, Any], seeds: list[str]) -> None:
    """Show other versions what they would show without the storage version, and carry what it lacks."""
    pairs = [("v1", "v2"), ("v2", "v1"), ("v3", "v2"), ("v2", "v3")]
    found = converter({pair: scrambling(seed) for pair, seed in zip(pairs, seeds, strict=True)}, storage="v1", hub="v2")
    original = widget("v3", spec)

    stored = _to(found, original, "v1")

    assert _to(found, stored, "v2")["spec"] == _to(found, original, "v2")["spec"]
    assert _to(found, stored, "v3")["spec"] == spec
    assert _to(found, _to(found, stored, "v3"), "v1") == stored


def test_a_field_that_the_storage_version_lacks() -> None:
    """Show the same value of a field in all versions that have it, although the storage version does not."""
    names = {"v1": ["a"], "v2": ["a", "b"], "v3": ["a", "b"]}
    schemas = {version: CompiledSchema(fields(spec=fields(**dict.fromkeys(known, "string")))) for version, known in names.items()}
    found = build_rules("widgets.example.com", conversion("v3", v1=[], v2=[]), schemas, "v1").converter
    moved = build_rules("widgets.example.com", conversion("v3", v1=[], v2=[]), schemas, "v3").converter
    stored = _to(found, widget("v2", {"a": "x", "b": "y"}), "v1")
    shown = _to(found, stored, "v3")
    migrated = _to(moved, stored, "v3")
    changed = _to(found, _to(found, shown | {"spec": {"a": "x", "b": "z"}}, "v1"), "v2")

    assert (stored["spec"], shown, migrated) == ({"a": "x"}, widget("v3", {"a": "x", "b": "y"}), shown)
    assert changed == widget("v2", {"a": "x", "b": "z"})
