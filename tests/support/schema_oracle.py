"""Independent schema validation and pruning with the jsonschema library.

`is_valid` and `pruned` share no code with apiext. They do not handle the cases in which the reference deviates from a schema's
meaning (bounds cut to integers, numbers accepted as texts of an enum, ...). Other tests cover these.
"""

import base64
import binascii
import ipaddress
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final

import jsonschema
from jsonschema.validators import extend

Schema = Mapping[str, Any]
_META: Final = ("apiVersion", "kind", "metadata")
_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer() and abs(value) < 2**53),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
}


def is_valid(schema: Schema, value: Any) -> bool:
    """Report whether the value is valid."""
    return bool(_VALIDATOR(_translated(schema), format_checker=_FORMATS).is_valid(value))


def _translated(schema: Schema) -> dict[str, Any]:
    """Return the schema with Kubernetes' type keywords merged into one."""
    kinds = [schema["type"]] if schema.get("type") else []
    if schema.get("x-kubernetes-int-or-string"):
        kinds = ["integer", "string"]
    result = {key: value for key, value in schema.items() if key not in ("type", "nullable", "default", "format")}
    result["kinds"] = {"of": kinds, "null": bool(schema.get("nullable")) or not kinds}
    known = (schema.get("format") or "").replace("-", "") in _FORMATS.checkers
    if known and kinds in ([], ["string"], ["integer", "string"]):
        result["format"] = schema["format"].replace("-", "")
        if kinds == ["string"]:
            # The reference accepts a list for a string that has a format.
            result["kinds"]["of"] = ["string", "array"]
    if schema.get("format") == "int32" and kinds == ["integer"]:
        result["allOf"] = [*(result.get("allOf") or ()), {"minimum": -(2**31), "maximum": 2**31 - 1}]
    if "properties" in result:
        result["properties"] = {name: _translated(child or {}) for name, child in result["properties"].items()}
    for key in ("items", "not", "additionalProperties"):
        if isinstance(result.get(key), Mapping):
            result[key] = _translated(result[key])
    for key in ("allOf", "anyOf", "oneOf"):
        if key in result:
            result[key] = [_translated(clause) for clause in result[key]]
    return result


def _kinds(_: Any, kinds: Mapping[str, Any], value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    fits = kinds["null"] if value is None else not kinds["of"] or any(_TYPES[kind](value) for kind in kinds["of"])
    if not fits:
        yield jsonschema.ValidationError("wrong type")


def _enum(_: Any, allowed: list[Any], value: Any, __: Any) -> Iterator[jsonschema.ValidationError]:
    if value is None or not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
        yield jsonschema.ValidationError("not allowed")


def _unless_null(keyword: str) -> Callable[..., Iterator[jsonschema.ValidationError]]:
    """Wrap a keyword to ignore null, as all keywords except type and enum do."""
    original = jsonschema.Draft4Validator.VALIDATORS[keyword]

    def check(validator: Any, argument: Any, value: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
        if value is not None:
            yield from original(validator, argument, value, schema) or ()

    return check


_COMBINATIONS: Final = ("allOf", "anyOf", "oneOf", "not")
_extend: Any = extend
_VALIDATOR: Final = _extend(
    jsonschema.Draft4Validator,
    {"kinds": _kinds, "enum": _enum} | {keyword: _unless_null(keyword) for keyword in _COMBINATIONS},
)

# --- formats ----------------------------------------------------------------------------------------------------------

_FORMATS: Final = jsonschema.FormatChecker(formats=())


def _format(name: str, *refusals: type[Exception]) -> Callable[[Callable[[str], Any]], Callable[[str], Any]]:
    """Register a format checker: a function that returns true or raises."""

    def declare(check: Callable[[str], Any]) -> Callable[[str], Any]:
        def only_texts(value: object) -> bool:
            return not isinstance(value, str) or bool(check(value))

        _FORMATS.checks(name, raises=refusals or ())(only_texts)
        return check

    return declare


def _regular(**patterns: str) -> None:
    for name, pattern in patterns.items():
        _format(name)(re.compile(pattern).fullmatch)


_regular(
    duration=r"(?is).*\d\s*(ns|us|ms|s|m|h|d|w|day|week|min|sec).*",
    mac="(?i)[0-9a-f]{2}(:[0-9a-f]{2}){5}",
    uri=r"(?s)[A-Za-z]+:.+",
    email="(?s).+@.+",
    hostname=r"(?!.{256})([A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?",
    hexcolor="(?i)#?([0-9a-f]{3}|[0-9a-f]{6})",
    password="(?s).*",
    k8sshortname="(?!.{64})[a-z0-9]([-a-z0-9]*[a-z0-9])?",
    k8slongname=r"(?!.{254})[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*",
)
_format("date", ValueError)(lambda text: len(text) == 10 and date.fromisoformat(text))
_format("datetime", ValueError)(lambda text: text[10:11] in ("T", "t") and datetime.fromisoformat(text))
_format("byte", binascii.Error)(lambda text: text and base64.b64decode(text, validate=True) is not None)
_format("ipv4", ValueError)(ipaddress.IPv4Address)
_format("ipv6", ValueError)(ipaddress.IPv6Address)
_format("cidr", ValueError)(lambda text: "/" in text and ipaddress.ip_network(text, strict=False))
_format("uuid", ValueError)(uuid.UUID)

# --- pruning ----------------------------------------------------------------------------------------------------------


def pruned(schema: Schema | None, value: Any, *, resource: bool = False) -> Any:
    """Return the value after pruning."""
    schema = schema or {}
    if isinstance(value, list):
        return [_pruned_item(schema, item) for item in value]
    if not isinstance(value, dict):
        return value
    resource = resource or bool(schema.get("x-kubernetes-embedded-resource"))
    result = {}
    for key, member in value.items():
        if resource and key in _META:
            result[key] = member
        elif key in (schema.get("properties") or {}):
            result[key] = pruned(schema["properties"][key], member)
        elif schema.get("additionalProperties") is not None:
            additional = schema["additionalProperties"]
            result[key] = pruned(additional if isinstance(additional, Mapping) else None, member)
        elif schema.get("x-kubernetes-preserve-unknown-fields"):
            result[key] = member
    return result


def _pruned_item(schema: Schema, item: Any) -> Any:
    below = schema.get("items")
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        # Preserving unknown fields extends through lists and ends at a specified property.
        return item if below is None else pruned({**below, "x-kubernetes-preserve-unknown-fields": True}, item)
    return pruned(below, item)
