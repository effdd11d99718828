"""The keywords of a schema node as value validation reads them (ConvertJSONSchemaProps, Structural.ToKubeOpenAPI)."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sized
from typing import Any, TypeVar

from apiext.meta.encoding import json_codec
from apiext.meta.encoding.json_values import identity
from apiext.meta.field import supported_values
from apiext.meta.golang import formatting
from apiext.scheduling.inline_work import current_work
from apiext.schema.model import Props
from apiext.schema.strfmt.registry import is_known_format

S = TypeVar("S", bound=Sized)
_NUMERIC_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


class Spec:
    """A schema node; nodes below are created on first use.

    served: validate as for requests: an int-or-string has the types integer and string, and formats that mean nothing for the type
    are ignored. Otherwise validate as for defaults: types and formats count as they stand.
    """

    __slots__ = (
        "additional", "all_of", "allowed", "any_of", "closed", "enum", "enum_digest", "exclusive_maximum", "exclusive_minimum",
        "format", "items", "max_items", "max_length", "max_properties", "maximum", "min_items", "min_length", "min_properties",
        "minimum", "multiple_of", "not_", "nullable", "one_of", "pattern", "properties", "raw", "required", "served", "supported",
        "types", "unique_items",
    )  # fmt: skip

    properties: dict[str, Spec]
    items: Spec | None
    additional: Spec | None
    all_of: list[Spec]
    any_of: list[Spec]
    one_of: list[Spec]
    not_: Spec | None
    allowed: frozenset[Hashable]
    """Keys of the values of the enum."""
    enum_digest: str
    """Stands for the list of values in a message that only has to be distinct."""
    supported: str
    """The values of the enum as a field error lists them."""

    def __init__(self, raw: Props | None, *, served: bool) -> None:
        self.raw = raw = raw or {}
        self.served = served
        get = raw.get
        kind = get("type")
        self.types: tuple[str, ...] = (kind,) if kind else ()
        if served and get("x-kubernetes-int-or-string") is True:
            self.types = ("integer", "string")
        self.format: str = get("format") or ""
        if served and self.format and not is_supported_format(self.types, self.format):
            self.format = ""
        self.nullable = get("nullable") is True
        self.enum: list[Any] = get("enum") or []
        self.pattern: str = get("pattern") or ""
        self.required: list[str] = get("required") or []
        self.maximum, self.minimum, self.multiple_of = map(_number, (get("maximum"), get("minimum"), get("multipleOf")))
        self.exclusive_maximum = get("exclusiveMaximum") is True
        self.exclusive_minimum = get("exclusiveMinimum") is True
        self.max_length: int | None = get("maxLength")
        self.min_length: int | None = get("minLength")
        self.max_items: int | None = get("maxItems")
        self.min_items: int | None = get("minItems")
        self.max_properties: int | None = get("maxProperties")
        self.min_properties: int | None = get("minProperties")
        self.unique_items = get("uniqueItems") is True
        self.closed = get("additionalProperties") is False

    def __getattr__(self, name: str) -> Any:
        # Called only while the slot is empty.
        value: Any
        if name == "properties":
            below = _counted(self.raw.get("properties") or {})
            value = {key: Spec(child, served=self.served) for key, child in below.items()}
        elif name in _SINGLE:
            child = self.raw.get(_SINGLE[name])
            value = Spec(child, served=self.served) if isinstance(child, Mapping) else None
        elif name in _LISTS:
            value = [Spec(child, served=self.served) for child in _counted(self.raw.get(_LISTS[name]) or ())]
        elif name == "allowed":
            value = frozenset(identity(item) for item in self.enum if item is not None)
        elif name == "enum_digest":
            value = hashlib.blake2b(" ".join(map(formatting.value, self.enum)).encode(errors="surrogatepass")).hexdigest()
        elif name == "supported":
            value = supported_values(item if isinstance(item, str) else json_codec.dumps(item).decode() for item in self.enum)
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value


_SINGLE = {"items": "items", "additional": "additionalProperties", "not_": "not"}
_LISTS = {"all_of": "allOf", "any_of": "anyOf", "one_of": "oneOf"}


def _counted(children: S) -> S:
    """Count the schemas below a node as work of the current request. Raises HeavyWorkError if they are too many for the event loop."""
    current_work().step(len(children))
    return children


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def is_supported_format(types: tuple[str, ...], name: str) -> bool:
    """Return whether a format means something for the types; other formats are accepted in a CRD and ignored."""
    kind = types[0] if len(types) == 1 else ""
    if kind in ("", "string"):
        return is_known_format(name)
    return name in _NUMERIC_FORMATS.get(kind, ())
