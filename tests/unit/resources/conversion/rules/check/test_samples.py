"""Objects made up from schemas."""

from typing import Any, Final

import pytest

from apiext.resources.conversion.rules.check.choices import RandomChoices
from apiext.resources.conversion.rules.check.samples import Samples
from apiext.resources.conversion.rules.parsing.document_parser import parse_rules
from apiext.schema.compiled import CompiledSchema
from tests.support.builders.related_versions import INTEGER, STRING, array, conversion, mapped, obj

_HARD: Final[dict[str, Any]] = {
    "enum": STRING | {"enum": ["a", "b"]},
    "range": INTEGER | {"minimum": 5, "maximum": 7},
    "multiple": INTEGER | {"minimum": 3, "multipleOf": 5},
    "above": INTEGER | {"minimum": 3, "exclusiveMinimum": True},
    "length": STRING | {"minLength": 3, "maxLength": 4},
    "pattern": STRING | {"pattern": "^[a-z]+$"},
    "format": STRING | {"format": "date-time"},
    "items": array(INTEGER, minItems=2, maxItems=2),
    "set": array(STRING, minItems=2, **{"x-kubernetes-list-type": "set"}),
    "keyed": array(obj(("name",), name=STRING), **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
    "members": mapped(STRING) | {"minProperties": 1},
    "some": obj(a=STRING, b=STRING) | {"minProperties": 1},
    "either": {"x-kubernetes-int-or-string": True},
    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "null": STRING | {"nullable": True},
    "default": STRING | {"default": "x"},
}


def _samples(schema: Any, *rules: Any) -> Samples:
    return Samples(CompiledSchema(schema), parse_rules(conversion(*rules)), "v1", kind="Widget")


@pytest.mark.parametrize("name", _HARD)
def test_values_are_valid_and_differ(name: str) -> None:
    """Find valid values for each keyword."""
    samples = _samples(obj(("spec",), spec=obj(("value",), value=_HARD[name])))

    found = [samples.make(RandomChoices(seed)) for seed in range(20)]

    values = {repr(each["spec"]["value"]) for each in found if each is not None}
    assert len(values) > 1
    assert sum(each is not None for each in found) > 10


def test_fields_that_rules_name_occur_often() -> None:
    """Prefer the fields that conversions change, with the separators of rules in their texts."""
    fields: dict[str, Any] = {f"f{number}": STRING for number in range(200)} | {"image": STRING}
    samples = _samples(obj(spec=obj(**fields)), {"split": {"path": "spec.image", "to": ["spec.a", "spec.b"], "separator": "@"}})

    images = [each["spec"]["image"] for seed in range(40) if (each := samples.make(RandomChoices(seed))) and "image" in each["spec"]]

    assert len(images) > 20
    assert any("@" in image for image in images)


def test_labels_and_annotations_that_rules_name_are_made() -> None:
    """Give some objects the annotations that conversions change."""
    samples = _samples(obj(spec=obj(a=STRING)), {"move": {"from": "metadata.annotations['example.com/a']", "to": "spec.b"}})

    found = [samples.make(RandomChoices(seed)) for seed in range(20)]

    annotations = [each["metadata"].get("annotations") for each in found if each is not None]
    assert None in annotations
    assert any(each and "example.com/a" in each for each in annotations)


def test_objects_are_defaulted_and_have_an_identity() -> None:
    """Make objects as a server decodes them."""
    found = _samples(obj(spec=obj(a=STRING | {"default": "x"}))).make(RandomChoices(1))

    assert found is not None
    assert (found["apiVersion"], found["kind"], found["metadata"]["name"]) == ("example.com/v1", "Widget", "sample")
    assert "a" in found["spec"]


def test_impossible_schemas_have_no_objects() -> None:
    """Return None where no valid value is found."""
    samples = _samples(obj(spec=obj(("a",), a=STRING | {"pattern": "^[^\\x00-\\x{10FFFF}]$"})))

    assert [samples.make(RandomChoices(seed)) for seed in range(3)] == [None] * 3


def test_a_seed_makes_the_same_object() -> None:
    """Repeat choices by their seed."""
    samples = _samples(obj(spec=obj(a=STRING, b=INTEGER, c=array(STRING))))

    assert samples.make(RandomChoices(7)) == samples.make(RandomChoices(7))
