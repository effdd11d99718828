"""What expressions know of a schema: types, names of fields, and limits of sizes (apiserver pkg/cel/types.go, common/schemas.go)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from apiext.base.meta.limits import MAX_BODY_BYTES
from apiext.schema.cel.escaping import RESERVED, escape
from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, CelType, list_of, map_of
from apiext.schema.keywords import SIZE_LIMITS
from apiext.schema.model import Structural

_MAX_LENGTH: Final = SIZE_LIMITS["string"]
_MAX_NAME: Final = 253
_MAX_UTF8: Final = 4
"""Bytes of a character at most."""
_MAX_TIME_SIZE: Final = 32
_DATE_SIZE: Final = 12
_MIN_DATE_TIME_SIZE: Final = 21
_MIN_DURATION_SIZE: Final = 3
_MIN_STRING_SIZE: Final = 2
_TEXT: Final = Structural({"type": "string"})


class Declaration:
    """A node of a schema as expressions see it; its fields are read on first use.

    One declaration serves all rules at and above its node, so it has no name: see DeclaredTypes.
    """

    def __init__(self, schema: Structural, kind: CelType, *, min_size: int = 1, max_elements: int = 0) -> None:
        """Declare a value that has no parts; `declare` makes all kinds of declarations from schemas."""
        self.schema = schema
        self.kind = kind
        """`list`, `map` and `object` without parameters; a complete type otherwise."""
        self._min_size = min_size
        self._max_elements = max_elements

    @property
    def element(self) -> Declaration | None:
        """The declaration of the elements of a list or the values of a map."""
        return None

    @property
    def fields(self) -> Mapping[str, DeclaredField]:
        """The fields of an object by their escaped names."""
        return {}

    @property
    def max_elements(self) -> int:
        """Items or entries at most, bytes of a string at most; 0 for values without a size."""
        return self._max_elements

    @property
    def min_size(self) -> int:
        """Bytes of the value in JSON at least."""
        return self._min_size


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """A field of an object."""

    property: str
    """Its name in the object, not escaped."""
    declaration: Declaration
    required: bool


class _Container(Declaration):
    """A list or a map; each entry takes `overhead` bytes of JSON beside its value."""

    def __init__(self, schema: Structural, kind: CelType, element: Declaration, limit: str, overhead: int) -> None:
        super().__init__(schema, kind, min_size=2)
        self._element = element
        self._limit = limit
        self._overhead = overhead

    @property
    def element(self) -> Declaration:
        return self._element

    @cached_property
    def max_elements(self) -> int:
        limit = _limit(self.schema, self._limit)
        return (MAX_BODY_BYTES - 2) // (self._element.min_size + self._overhead) if limit is None else limit


class _Object(Declaration):
    def __init__(self, schema: Structural, properties: Mapping[str, Structural]) -> None:
        super().__init__(schema, _OBJECT)
        self._properties = properties

    @cached_property
    def _declared(self) -> tuple[DeclaredField, ...]:
        required = set(self.schema.raw.get("required") or ())
        declarations = ((name, declare(child, resource=child.embedded)) for name, child in self._properties.items())
        return tuple(DeclaredField(name, found, name in required) for name, found in declarations if found is not None)

    @cached_property
    def fields(self) -> Mapping[str, DeclaredField]:
        escaped = ((escape(field.property), field) for field in self._declared)
        return {name: field for name, field in escaped if name is not None}

    @cached_property
    def min_size(self) -> int:
        present = (field for field in self._declared if field.required and field.declaration.schema.default is None)
        return 2 + sum(len(field.property.encode()) + field.declaration.min_size + 4 for field in present)


_LIST: Final = CelType("list")
_MAP: Final = CelType("map")
_OBJECT: Final = CelType("object")
_SCALARS: Final = {"boolean": (BOOL, 4), "number": (DOUBLE, 1), "integer": (INT, 1)}
_TIMES: Final = {
    "duration": (DURATION, _MIN_DURATION_SIZE, _MAX_TIME_SIZE),
    "date": (TIMESTAMP, _DATE_SIZE, _DATE_SIZE),
    "date-time": (TIMESTAMP, _MIN_DATE_TIME_SIZE, _MAX_TIME_SIZE),
}


def declare(schema: Structural, *, resource: bool = False) -> Declaration | None:
    """Return the declaration of a schema, None if expressions cannot see its values.

    A resource, the whole object or an embedded one, always has apiVersion, kind, metadata.name and metadata.generateName.
    """
    raw = schema.raw
    if raw.get("x-kubernetes-int-or-string") is True:
        return Declaration(schema, DYN, max_elements=_text_limit(schema, MAX_BODY_BYTES - 2))
    kind = raw.get("type")
    if kind == "array":
        element = None if schema.items is None else declare(schema.items, resource=schema.items.embedded)
        return None if element is None else _Container(schema, _LIST, element, SIZE_LIMITS["array"], 1)
    if kind == "object":
        if schema.additional is not None:
            value = declare(schema.additional, resource=schema.additional.embedded)
            return None if value is None else _Container(schema, _MAP, value, SIZE_LIMITS["object"], 6)
        return _Object(schema, _resource_properties(schema) if resource else schema.properties)
    if kind == "string":
        return _declare_string(schema)
    if kind in _SCALARS:
        scalar, size = _SCALARS[kind]
        return Declaration(schema, scalar, min_size=size)
    return None


def _declare_string(schema: Structural) -> Declaration:
    text_format = schema.raw.get("format")
    if text_format == "byte":
        limit = _limit(schema, _MAX_LENGTH)
        return Declaration(schema, BYTES, min_size=_MIN_STRING_SIZE, max_elements=MAX_BODY_BYTES - 2 if limit is None else limit)
    if text_format in _TIMES:
        kind, least, most = _TIMES[text_format]
        return Declaration(schema, kind, min_size=least, max_elements=most)
    choices = schema.raw.get("enum") or ()
    unbounded = max((len(choice.encode()) for choice in choices if isinstance(choice, str)), default=0) if choices else MAX_BODY_BYTES - 2
    return Declaration(schema, STRING, min_size=_MIN_STRING_SIZE, max_elements=_text_limit(schema, unbounded))


def _resource_properties(schema: Structural) -> Mapping[str, Structural]:
    properties = schema.properties
    metadata = properties.get("metadata")
    names = {} if metadata is None else metadata.properties
    declared = (properties.get("kind"), properties.get("apiVersion"), names.get("name"), names.get("generateName"))
    if _is(metadata, "object") and all(_is(name, "string") for name in declared):
        return properties
    capped = {"name": _capped(names.get("name"), _MAX_NAME), "generateName": _capped(names.get("generateName"), _MAX_NAME - 1)}
    return {**properties, "kind": _TEXT, "apiVersion": _TEXT, "metadata": Structural({"type": "object", "properties": capped})}


def _is(schema: Structural | None, kind: str) -> bool:
    return schema is not None and schema.raw.get("type") == kind


def _capped(schema: Structural | None, most: int) -> dict[str, Any]:
    limit = None if schema is None else schema.raw.get(_MAX_LENGTH)
    return {"type": "string", _MAX_LENGTH: most if limit is None else min(limit, most)}


def _limit(schema: Structural, keyword: str) -> int | None:
    limit = schema.raw.get(keyword)
    return None if limit is None else max(int(limit), 0)


def _text_limit(schema: Structural, otherwise: int) -> int:
    limit = _limit(schema, _MAX_LENGTH)
    return otherwise if limit is None else limit * _MAX_UTF8


class DeclaredTypes:
    """The types of a declaration and of what is below it, named after their places, as `selfType0.spec.items.@idx`.

    Types are created when an expression touches them; see `environment.ObjectTypes`.
    """

    def __init__(self, declaration: Declaration, name: str = "selfType0") -> None:
        """Name the types below a declaration."""
        self._objects: dict[str, Declaration] = {}
        self._fields: dict[tuple[str, str], CelType] = {}
        self.kind = self._type(declaration, name)
        """The type of the declaration itself."""

    def __contains__(self, name: object, /) -> bool:
        """Tell whether an object type has this name."""
        return name in self._objects

    def is_named(self, _name: str, /) -> bool:
        """Return False: names of places are no names for expressions."""
        return False

    def declaration(self, name: str) -> Declaration:
        """Return the declaration of an object type."""
        return self._objects[name]

    def declared_field(self, name: str, field_name: str) -> DeclaredField | None:
        """Return a field of an object type; reserved words may stand for their escaped form."""
        fields = self._objects[name].fields
        if field_name not in fields and field_name in RESERVED:
            return fields.get(f"__{field_name}__")
        return fields.get(field_name)

    def field(self, name: str, field_name: str, /) -> CelType | None:
        """Return the type of a field of an object type, None if there is no such field."""
        known = self._fields.get((name, field_name))
        if known is not None:
            return known
        field = self.declared_field(name, field_name)
        if field is None:
            return None
        kind = self._type(field.declaration, f"{name}.{escape(field.property)}")
        self._fields[name, field_name] = kind
        return kind

    def _type(self, declaration: Declaration, name: str) -> CelType:
        if declaration.kind is _OBJECT:
            self._objects[name] = declaration
            return CelType(name)
        if declaration.element is None:
            return declaration.kind
        if declaration.kind is _LIST:
            return list_of(self._type(declaration.element, f"{name}.@idx"))
        return map_of(STRING, self._type(declaration.element, f"{name}.@elem"))
