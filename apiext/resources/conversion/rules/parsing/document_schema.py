"""Checks the shape of Conversion objects by their JSON Schema, `conversion.schema.json`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.field import OMITTED, FieldError, Path, forbidden, invalid, required, too_long
from apiext.base.meta.limits import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jsonschema import Draft202012Validator, ValidationError


MAX_RULES: Final = 1024
"""Rules of all spokes: they are parsed and checked on the event loop, once after each change, in about 50 microseconds each."""
MAX_SPEC_BYTES: Final = 128 * 1024
"""Bytes of the spec in JSON. The event loop parses it, in a microsecond for each two of them."""


def shape_errors(document: object) -> list[FieldError]:
    """Return what a document has that a Conversion object must not have, or lacks."""
    return _size_errors(document) or [found for error in _validator().iter_errors(document) for found in _errors(error)]


def _size_errors(document: Any) -> list[FieldError]:
    spec = document.get("spec") if type(document) is dict else None
    if type(spec) is not dict:
        return []
    at = Path("spec")
    if json_values.is_deeper(spec, MAX_DEPTH):
        return [invalid(at, OMITTED, f"must not be nested deeper than {MAX_DEPTH} levels")]
    if len(json_codec.dumps(spec)) > MAX_SPEC_BYTES:
        return [too_long(at, MAX_SPEC_BYTES)]
    spokes = spec.get("spokes")
    rules = [spoke.get("rules") for spoke in spokes if type(spoke) is dict] if type(spokes) is list else []
    count = sum(len(each) for each in rules if type(each) is list)
    return [forbidden(at.child("spokes"), f"have {count} rules, and together can have {MAX_RULES}")] if count > MAX_RULES else []


@cache
def _validator() -> Draft202012Validator:
    # takes 100 ms
    from jsonschema import Draft202012Validator

    schema: Any = json_codec.loads(files("apiext.resources.conversion.rules.parsing").joinpath("conversion.schema.json").read_bytes())
    return Draft202012Validator(_resolved(schema, schema["$defs"]))


def _resolved(node: Any, definitions: Any) -> Any:
    """Return a schema with the definitions in the place of references, which take half of the time of a validation."""
    if isinstance(node, list):
        return [_resolved(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    name = node.get("$ref", "").removeprefix("#/$defs/")
    merged = definitions.get(name, {}) | node
    return {key: _resolved(value, definitions) for key, value in merged.items() if key not in {"$ref", "$defs"}}


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
