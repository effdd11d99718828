"""Properties of all rules: an exact conversion can be taken back, what is not exact is carried, and pairs are composed."""

from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from apiext.base.meta.encoding import json_values
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.rules.converter import RulesConverter
from apiext.resources.conversion.rules.declared_losses import DeclaredLosses
from apiext.resources.conversion.rules.model import ConversionRules
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.random_conversions import RandomConversion, random_conversions

PAIRS = [("v1", "v2"), ("v2", "v1"), ("v1", "v3")]


def _converted(conversion: RandomConversion, obj: Any, source: str, target: str) -> tuple[Any, bool]:
    """Return an object in another version, and whether that is exact. What the given object holds stays as it is."""
    result, before = obj.copy(), json_values.copy(obj)
    try:
        is_exact = conversion.rules.transformation(source, target).apply(result)
    except ConversionError:
        # a parent of a target is no object
        assume(False)
        raise
    assert json_values.equal(obj, before)
    return result, is_exact


@settings(max_examples=300, deadline=None)
@given(random_conversions(), st.sampled_from(PAIRS))
def test_an_exact_conversion_can_be_taken_back(conversion: RandomConversion, pair: tuple[str, str]) -> None:
    """Convert an object there and back: where the way there was exact, the object is the same."""
    source, target = pair
    obj = conversion.obj(source)
    result, is_exact = _converted(conversion, obj, source, target)
    assume(is_exact)
    returned, _ = _converted(conversion, result, target, source)

    assert json_values.equal(returned, obj)


@settings(max_examples=60, deadline=None)
@given(random_conversions())
def test_spokes_are_composed(conversion: RandomConversion) -> None:
    """Convert from spoke to spoke as from spoke to hub to spoke."""
    obj = conversion.obj("v1")
    direct, _ = _converted(conversion, obj, "v1", "v3")
    hub, _ = _converted(conversion, obj, "v1", "v2")
    composed, _ = _converted(conversion, hub, "v2", "v3")

    assert json_values.equal(direct, composed)


@settings(max_examples=60, deadline=None)
@given(random_conversions())
def test_the_result_is_pruned(conversion: RandomConversion) -> None:
    """Leave nothing that decoding by the target's schema would drop."""
    result, _ = _converted(conversion, conversion.obj("v1"), "v1", "v2")
    coerced = json_values.copy(result)
    conversion.schemas["v2"].coerce(coerced)

    assert json_values.equal(coerced, result)


def _carrying(converter: RulesConverter, obj: Any, version: str, schema: CompiledSchema) -> Any:
    """Return an object in another version, pruned and with what it carries. What the given object holds stays as it is."""
    before = json_values.copy(obj)
    result = converter.convert_inline(obj.copy(), f"e/{version}")
    coerced = json_values.copy(result)
    schema.coerce(coerced)
    assert json_values.equal(coerced, result)
    assert json_values.equal(obj, before)
    return result


@settings(max_examples=100, deadline=None)
@given(random_conversions(), st.sampled_from(PAIRS))
def test_what_is_not_exact_is_carried(conversion: RandomConversion, pair: tuple[str, str]) -> None:
    """Convert a valid object there and back with the annotation: it is the same, whatever the rules lose."""
    source, target = pair
    losses = DeclaredLosses(ConversionRules("w.e", "v2", conversion.spokes))
    converter = RulesConverter(conversion.rules, losses, conversion.schemas, "v2", "w.e")
    obj = conversion.obj(source)
    # values of other types than the schema's are not restored
    assume(not conversion.schemas[source].validate_values(obj))
    try:
        there = _carrying(converter, obj, target, conversion.schemas[target])
        back = _carrying(converter, there, source, conversion.schemas[source])
    except ConversionError:
        # a parent of a target is no object
        assume(False)
        raise

    assert json_values.equal(back, obj)
