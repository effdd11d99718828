"""Rules of all versions compiled: composition through the hub, and the schema of the target."""

import pytest

from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.compile import compile_rules
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.conversions import OPEN, compiled, conversion, converted, fields, items, widget

THREE = conversion(
    v1=[{"rename": {"path": "spec.size", "to": "capacity"}}],
    v3=[{"move": {"from": "spec.storage.capacity", "to": "spec.capacity"}}],
)


def test_two_spokes_are_composed_through_the_hub() -> None:
    """Convert from one spoke to another as by way of the hub."""
    rules = compiled(THREE)

    assert converted(rules, widget("v1", {"size": 1}), "v3") == (widget("v3", {"storage": {"capacity": 1}}), True)
    assert converted(rules, widget("v3", {"storage": {"capacity": 1}}), "v1") == (widget("v1", {"size": 1}), True)


def test_the_schema_of_the_target_prunes() -> None:
    """Prune what the target does not specify, and say that it may get lost."""
    rules = compiled(THREE, v2=fields(spec=fields(capacity="integer", rows=items(fields(a="string")))))

    assert converted(rules, widget("v1", {"size": 1, "rows": [{"a": ""}]}), "v2") == (
        widget("v2", {"capacity": 1, "rows": [{"a": ""}]}),
        True,
    )
    assert converted(rules, widget("v1", {"size": 1, "rows": [{"b": 1}]}), "v2") == (widget("v2", {"capacity": 1, "rows": [{}]}), False)
    assert converted(rules, widget("v1", {"size": 1, "other": 2}), "v2") == (widget("v2", {"capacity": 1}), False)


def test_the_schema_of_the_hub_prunes_between_spokes() -> None:
    """Lose what only the spokes have, as on the way by the hub."""
    rules = compiled(conversion(v1=[], v3=[]), v2=fields(spec=fields(a="integer")))

    assert converted(rules, widget("v1", {"a": 1, "b": 2}), "v3") == (widget("v3", {"a": 1}), False)


def test_nulls_that_the_target_does_not_allow_are_dropped() -> None:
    """Drop a null as decoding would, and say that it may get lost."""
    rules = compiled(conversion(v1=[]), v2=fields(spec=fields(a="string", b={"type": "string", "nullable": True})))

    assert converted(rules, widget("v1", {"a": None, "b": None}), "v2") == (widget("v2", {"b": None}), False)


def test_a_version_without_pruning_keeps_all() -> None:
    """Keep unknown fields where the CRD preserves them."""
    rules = compile_rules(
        parse_rules(conversion(v1=[])),
        {"v1": CompiledSchema(OPEN), "v2": CompiledSchema(fields(), preserve_unknown_fields=True)},
    )

    assert converted(rules, widget("v1", {"a": 1}), "v2") == (widget("v2", {"a": 1}), True)


def test_unknown_versions_are_refused() -> None:
    """Refuse a version without rules, and one that the CRD does not have."""
    rules = compile_rules(parse_rules(THREE), {"v1": CompiledSchema(OPEN), "v2": CompiledSchema(OPEN), "v4": CompiledSchema(OPEN)})

    with pytest.raises(ConversionError, match=r"the Conversion widgets\.example\.com has no rules for version v4"):
        rules.transformation("v4", "v2")
    with pytest.raises(ConversionError, match="names version v3, which the CRD does not have"):
        rules.transformation("v1", "v3")


def test_a_result_shares_nothing_within_itself() -> None:
    """Copy what a rule duplicates: a change of one copy does not show in the other."""
    rules = compiled(conversion(v1=[{"copy": {"from": "spec.a", "to": "spec.b"}}]))
    result, _ = converted(rules, widget("v1", {"a": {"c": [1]}}), "v2")

    result["spec"]["a"]["c"].append(2)

    assert result["spec"]["b"] == {"c": [1]}


def test_copies_of_copies_are_limited() -> None:
    """Fail where each copy doubles the object, before the memory is used up."""
    pairs = [("a", "b.x"), ("a", "b.y"), ("b", "a.x"), ("b", "a.y")] * 20
    rules = compiled(conversion(v1=[{"copy": {"from": f"spec.{source}", "to": f"spec.{target}"}} for source, target in pairs]))

    with pytest.raises(ConversionError, match=r"spec\.[ab] cannot be copied: it has more than 1572864 bytes"):
        converted(rules, widget("v1", {"a": {"text": "x"}, "b": {}}), "v2")
