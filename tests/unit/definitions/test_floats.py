"""Numbers of definitions that are floats."""

from typing import Any

import pytest

from apiext.definitions.floats import set_floats
from tests.support.builders.crds import crd, version


def _definition(maximum: float) -> dict[str, Any]:
    number = {"maximum": maximum, "default": 1, "maxLength": 1}
    schema = {
        "properties": {"maximum": number, "a": {"items": {"not": number}}, "b": {"anyOf": [number], "additionalProperties": True}},
        "dependencies": {"a": ["b"], "c": number},
        "example": {"maximum": 1},
    }
    return crd("a", version("v1", schema=schema), {"name": "v2"})


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [value, value], lambda value: {"items": [value], "metadata": {}}])
def test_limits_are_floats(wrap: Any) -> None:
    """Turn the limits of numbers into floats, at any depth, and nothing else."""
    value = wrap(_definition(10))

    set_floats(value)

    assert repr(value) == repr(wrap(_definition(10.0)))


@pytest.mark.parametrize("value", [{"kind": "Status"}, {"items": []}, {"metadata": {}, "kind": "PartialObjectMetadata"}, []])
def test_other_values_stay(value: Any) -> None:
    """Leave other responses as they are."""
    before = repr(value)

    set_floats(value)

    assert repr(value) == before
