"""Expressions for the rules of a schema: well-formed and malformed, of fitting and of other types."""

import json
from pathlib import Path
from typing import Any, Final

from tests.differential.cases import definition_cases

SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "x": {"type": "integer"},
        "s": {"type": "string", "maxLength": 10},
        "n": {"type": "number"},
        "l": {"type": "array", "maxItems": 3, "items": {"type": "integer"}},
        "m": {"type": "object", "maxProperties": 3, "additionalProperties": {"type": "string", "maxLength": 5}},
        "o": {
            "type": "object",
            "properties": {
                "a": {"type": "boolean"},
                "namespace": {"type": "string", "maxLength": 5},
                "d": {"type": "string", "format": "date-time"},
                "u": {"type": "string", "format": "duration"},
                "b": {"type": "string", "format": "byte", "maxLength": 5},
            },
        },
        "i": {"x-kubernetes-int-or-string": True, "maxLength": 5},
        "ll": {"type": "array", "maxItems": 3, "items": {"type": "array", "maxItems": 3, "items": {"type": "string", "maxLength": 5}}},
        "lo": {"type": "array", "maxItems": 3, "items": {"type": "object", "properties": {"k": {"type": "string", "maxLength": 5}}}},
        "p": {"x-kubernetes-preserve-unknown-fields": True},
        "a-b": {"type": "integer"},
    },
}
"""What the rules see as self."""

EXPRESSIONS: Final[list[str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""Each is the rule of one field."""


def definition() -> definition_cases.Crd:
    """Return a definition in which every expression is the rule of a field of its own."""
    fields = {
        f"f{number}": {**SCHEMA, "x-kubernetes-validations": [{"rule": rule, "message": "refused"}]}
        for number, rule in enumerate(EXPRESSIONS)
    }
    return definition_cases.of_schema({"type": "object", "properties": fields})
