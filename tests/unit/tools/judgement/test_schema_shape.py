"""Shapes of schemas."""

from apiext.tools.judgement.schema_shape import shape
from tests.support.builders.definition_pairs import INTEGER, STRING, mapping, several, struct


def test_keywords_that_only_validate_do_not_count() -> None:
    """Find schemas equal that differ in limits, rules and descriptions."""
    loose = struct(a=INTEGER, b=several(STRING), maximum=STRING, c=mapping(INTEGER))
    strict = struct(
        "self.a > 1",
        a=INTEGER | {"maximum": 5, "description": "x"},
        b=several(STRING | {"enum": ["a"]}),
        maximum=STRING,
        c=mapping(INTEGER),
    ) | {"required": ["a"], "anyOf": [{"required": ["b"]}]}

    assert shape(loose) == shape(strict)


def test_types_defaults_and_fields_count() -> None:
    """Find schemas different that reads or applies treat differently."""
    schemas = [
        struct(a=INTEGER),
        struct(a=STRING),
        struct(a=INTEGER | {"default": 1}),
        struct(a=INTEGER | {"nullable": True}),
        struct(b=INTEGER),
        mapping(INTEGER),
        struct(a=several(INTEGER)),
        struct(a=several(INTEGER, **{"x-kubernetes-list-type": "set"})),
    ]
    shapes = [shape(schema) for schema in schemas]

    assert all(one != other for place, one in enumerate(shapes) for other in shapes[:place])
    assert shape(None) is None
    assert shape({"additionalProperties": True}) == {"additionalProperties": True}
