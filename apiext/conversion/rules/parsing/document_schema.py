"""Checks the shape of Conversion objects by their JSON Schema, `conversion.schema.json`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from apiext.meta.encoding import json_codec
from apiext.meta.field import OMITTED, FieldError, Path, forbidden, invalid, required

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import Draft202012Validator, ValidationError


def shape_errors(document: object) -> list[FieldError]:
    """Return what a document has that a Conversion object must not have, or lacks."""
    return [found for error in _validator().iter_errors(document) for found in _errors(error)]


@cache
def _validator() -> Draft202012Validator:
    # takes 100 ms
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json_codec.loads(files("apiext.conversion.rules.parsing").joinpath("conversion.schema.json").read_bytes()))


def _errors(error: ValidationError) -> Iterator[FieldError]:
    path = path_of(error.absolute_path)
    schema: Any = error.schema
    instance: Any = error.instance
    if error.validator == "required":
        yield from (required(path.child(name)) for name in schema["required"] if name not in instance)
    elif error.validator == "additionalProperties":
        yield from (forbidden(path.child(name), "unknown field") for name in instance if name not in schema["properties"])
    elif error.validator in {"minProperties", "maxProperties"}:
        yield invalid(path, OMITTED, f"must have {_count(schema)}")
    else:
        shown = OMITTED if isinstance(instance, dict | list) else instance
        yield invalid(path, shown, _reason(error))


def path_of(steps: object) -> Path:
    """Return the path of a document's member, by names and indices."""
    path = Path()
    for step in steps:  # type: ignore[attr-defined]
        path = path.index(step) if isinstance(step, int) else path.child(step)
    return path


def _count(schema: Any) -> str:
    if schema.get("minProperties") != schema.get("maxProperties"):
        return "a member"
    if "field" in schema.get("properties", ()):
        return "either `field` or `list: true`"
    return "exactly one member, the kind of the rule"


def _reason(error: ValidationError) -> str:
    if error.validator == "type":
        # jsonschema would quote the whole value
        expected: Any = error.validator_value
        return f"must be of type {expected if isinstance(expected, str) else ' or '.join(expected)}"
    if error.validator == "enum":
        allowed: Any = error.validator_value
        return f"must be one of {', '.join(allowed)}"
    if error.validator == "const":
        return f"must be {error.validator_value}"
    return error.message if len(error.message) < 200 else f"does not satisfy {error.validator}: {error.validator_value}"
