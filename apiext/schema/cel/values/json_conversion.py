"""Converts JSON values of custom resources to run-time values (apiserver pkg/cel/common/values.go).

Most JSON values are run-time values already. The shape of a schema node tells what to convert there: texts of formats, integers of
type number, lists that are sets or maps, absent and unknown fields. Objects and lists are converted only if an expression does more
with them than select members.

Type mismatch: apiserver pkg/cel/common/valuesunstructured.go.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.escaping import escape, unescape
from apiext.schema.cel.values.json_values import AssociativeList, MistypedJson, ObjectValue, UnknownJson, map_key, set_key
from apiext.schema.cel.values.run_time_values import OPTIONAL_NONE, Duration, OptionalValue, Timestamp
from apiext.schema.cel.values.times import parse_timestamp
from apiext.schema.model import Structural
from apiext.schema.strfmt.registry import parse_duration

if TYPE_CHECKING:
    from apiext.schema.model import Props

Memo = dict[int, object]
"""Converted containers by the identity of their JSON value, during one evaluation."""

_URL_BASE64: Final = re.compile("(?:[A-Za-z0-9_-]{4})*+(?:[A-Za-z0-9_-]{2}==|[A-Za-z0-9_-]{3}=)?")
_ZERO_TIME: Final = Timestamp(-62_135_596_800_000_000_000)

_EXPECTED: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "object": ((dict,), "a map for the provided schema with type=object"),
    "array": ((list,), "an array for the provided schema with type=array"),
    "string": ((str,), "string"),
    "number": ((int, float), "float"),
    "integer": ((int,), "int"),
    "boolean": ((bool,), "bool"),
}
_GO_TYPES: Final = {bool: "bool", int: "int64", float: "float64", str: "string", list: "[]interface {}", dict: "map[string]interface {}"}


def type_mismatch(schema: Props, value: Any) -> str:
    """Return the evaluation error of a value with a wrong type; empty for the right type. Do not check members."""
    if value is None:
        return "" if schema.get("nullable") is True else "invalid data, got null for schema with nullable=false"
    if schema.get("x-kubernetes-int-or-string") is True:
        return "" if type(value) in {int, str} else "invalid data, expected XIntOrString value to be either a string or integer"
    kind = schema.get("type") or ""
    types, name = _EXPECTED.get(kind, ((), ""))
    if not types or type(value) in types:
        return ""
    actual = "" if kind in {"object", "array"} else f", got {_GO_TYPES[type(value)]}"
    return f"invalid data, expected {name}{actual}"


def _number(value: Any) -> object:
    return float(value) if isinstance(value, int) else value


def _duration(value: Any) -> object:
    if (nanoseconds := parse_duration(value)) is None:
        raise CelError(f"Invalid duration {value}: unable to parse {value} as duration")
    return Duration(nanoseconds)


def _date(value: Any) -> object:
    if (moment := parse_timestamp(f"{value}T00:00:00Z")) is None:
        raise CelError(f"Invalid date formatted string {value}")
    return moment


def _date_time(value: Any) -> object:
    if not value:
        return _ZERO_TIME
    if (moment := parse_timestamp(value, zone_required=False)) is None:
        raise CelError(f"Invalid date-time formatted string {value}")
    return moment


def _bytes(value: Any) -> object:
    if not _URL_BASE64.fullmatch(value):
        raise CelError(f"Invalid byte formatted string {value}: illegal base64 data")
    return base64.urlsafe_b64decode(value)


_FORMATS: Final[dict[str, Callable[[Any], object]]] = {
    "duration": _duration,
    "date": _date,
    "date-time": _date_time,
    "byte": _bytes,
}


@dataclass(eq=False)
class Shape:
    """Types of a schema node: an object, a map, a list, a scalar, or an optional one of these. Makes its children at first use."""

    schema: Structural
    optional: bool = False
    """Whether values are `OptionalValue`s of the schema's type."""
    open: bool = False
    """Whether values may have undeclared fields although the schema does not preserve unknown ones: metadata."""
    strict: bool = False
    """Whether to check the types of values: they may differ from the schema's."""
    _fields: dict[str, tuple[str, Shape] | None] = field(default_factory=dict, init=False)

    @cached_property
    def type(self) -> str:
        """Return the schema's type; empty for int-or-string or an unknown type."""
        return "" if self.is_int_or_string else self.schema.raw.get("type") or ""

    @cached_property
    def is_int_or_string(self) -> bool:
        """Return whether values are integers or texts."""
        return self.schema.raw.get("x-kubernetes-int-or-string") is True

    @property
    def nullable(self) -> bool:
        """Return whether values may be null."""
        return self.schema.nullable

    @cached_property
    def is_container(self) -> bool:
        """Return whether values are objects, maps or lists."""
        return self.type in {"object", "array"}

    @cached_property
    def is_object(self) -> bool:
        """Return whether values have fields, not keys."""
        return self.type == "object" and (self.schema.embedded or bool(self.schema.properties) or self.element is None)

    @cached_property
    def is_map(self) -> bool:
        """Return whether values are maps."""
        return self.type == "object" and not self.is_object

    @cached_property
    def element(self) -> Shape | None:
        """Return the shape of a list's elements or a map's values."""
        inner = self.schema.items if self.type == "array" else self.schema.additional
        return None if inner is None else self._part(inner)

    @cached_property
    def inner(self) -> Shape:
        """Return the shape inside an optional value."""
        return self._part(self.schema) if self.optional else self

    def made_optional(self) -> Shape:
        """Return the shape of optional values with this shape inside."""
        return Shape(self.schema, optional=True, strict=self.strict)

    def _part(self, schema: Structural, *, is_open: bool = False) -> Shape:
        return Shape(schema, open=is_open, strict=self.strict)

    @cached_property
    def scalar(self) -> Callable[[Any], object] | None:
        """Return the converter of a scalar, None if it needs none. It raises CelError."""
        if self.type == "number":
            return _number
        return _FORMATS.get(self.schema.raw.get("format") or "") if self.type == "string" else None

    def field(self, identifier: str) -> tuple[str, Shape] | None:
        """Return property and shape for a field of an object."""
        if identifier not in self._fields:
            name = unescape(identifier)
            found = None if name is None else self.properties.get(name)
            is_open = self.schema.embedded and name == "metadata"
            self._fields[identifier] = None if name is None or found is None else (name, self._part(found, is_open=is_open))
        return self._fields[identifier]

    @cached_property
    def properties(self) -> Mapping[str, Structural]:
        """Return the properties of an object, with the fields of every resource for a resource."""
        properties = self.schema.properties
        if not self.schema.embedded or _has_resource_fields(properties):
            return properties
        metadata = Structural({"type": "object", "properties": {"name": {"type": "string"}, "generateName": {"type": "string"}}})
        return {**properties, "kind": Structural({"type": "string"}), "apiVersion": Structural({"type": "string"}), "metadata": metadata}

    @cached_property
    def is_plain(self) -> bool:
        """Return whether JSON values are run-time values, at any depth."""
        if self.strict:
            return False
        if self.optional:
            return self.inner.is_plain
        if self.type == "array":
            return self.schema.list_type in {"", "atomic"} and self.element is not None and self.element.is_plain
        if self.is_map:
            return self.element is not None and self.element.is_plain
        if not self.is_object:
            return self.scalar is None and (bool(self.type) or self.is_int_or_string)
        if self.open or self.schema.preserve or self.schema.embedded or not self.properties:
            return False
        return all(not child.nullable and escape(name) == name and Shape(child).is_plain for name, child in self.properties.items())

    def require_type(self, value: Any) -> None:
        """Check that a JSON value has the schema's type. Raises CelError."""
        if mismatch := type_mismatch(self.schema.raw, value):
            raise CelError(mismatch)

    def is_present(self, container: Any, name: str, memo: Memo) -> bool:
        """Return whether a JSON object has a member of this shape. Raises CelError for a wrong type."""
        value = container.get(name) if isinstance(container, dict) else None
        if value is None:
            return False
        if not self.is_container or self.optional:
            self.convert(value, memo)
        elif self.strict:
            # what is below has no influence, and may be large
            self.require_type(value)
        return True

    def convert(self, value: Any, memo: Memo) -> Any:
        """Return the run-time value of a JSON value. Raises CelError."""
        if self.strict and not self.optional:
            self.require_type(value)
        if value is None or self.is_plain:
            return value
        if not self.is_container and not self.optional:
            if self.scalar is not None:
                return self.scalar(value)
            return value if self.type or self.is_int_or_string else UnknownJson(value)
        if id(value) not in memo:
            memo[id(value)] = self._converted(value, memo)
        return memo[id(value)]

    def member(self, value: Any, memo: Memo) -> Any:
        """Return the run-time value of a list's or map's JSON member."""
        try:
            return self.convert(value, memo)
        except CelError as error:
            return MistypedJson(error)

    def _converted(self, value: Any, memo: Memo) -> object:
        if self.optional:
            return OptionalValue(self.inner.convert(value.value, memo)) if value.present else OPTIONAL_NONE
        if isinstance(value, list) and self.element is not None:
            elements = [self.element.member(element, memo) for element in value]
            if self.schema.list_type == "set":
                return AssociativeList(elements, set_key)
            if self.schema.list_type == "map":
                return AssociativeList(elements, map_key(tuple(escape(name) or name for name in self.schema.list_map_keys)))
            return elements
        if self.is_map and self.element is not None:
            return {key: self.element.member(element, memo) for key, element in value.items()}
        return self._object(value, memo) if isinstance(value, dict) else UnknownJson(value)

    def _object(self, value: dict[str, Any], memo: Memo) -> ObjectValue:
        fields: dict[str, Any] = {}
        unknown: dict[str, UnknownJson] = {}
        for name, member in value.items():
            if name not in self.properties:
                unknown[name] = UnknownJson(member)
            elif member is not None:
                identifier = escape(name) or name
                found = self.field(identifier)
                fields[identifier] = UnknownJson(member) if found is None else found[1].member(member, memo)
        return ObjectValue(fields, unknown, len(value))


def _has_resource_fields(properties: Mapping[str, Structural]) -> bool:
    """Return whether a schema itself declares the fields of every resource."""
    metadata = properties.get("metadata")
    return (
        all(name in properties and properties[name].raw.get("type") == "string" for name in ("kind", "apiVersion"))
        and metadata is not None
        and metadata.raw.get("type") == "object"
        and all(name in metadata.properties and metadata.properties[name].raw.get("type") == "string" for name in ("name", "generateName"))
    )
