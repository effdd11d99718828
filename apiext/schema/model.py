"""The structural schema: the part of an openAPIV3Schema that specifies fields (schema/structural.go, convert.go)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

Props = Mapping[str, Any]
"""A JSONSchemaProps of apiextensions.k8s.io/v1 as it stands in the CRD."""

RULES: Final = "x-kubernetes-validations"
"""Member of a schema that has its CEL rules."""
_NONE: Props = {}
_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_UNSUPPORTED_NAMES = {"$schema": "schema"}
_JUNCTORS = ("allOf", "anyOf", "oneOf")


class Structural:
    """A node of a structural schema; its children are created on first use.

    A schema may have thousands of properties of which an object uses a few, so unused nodes cost nothing.
    """

    __slots__ = (
        "additional",
        "default",
        "defaults",
        "embedded",
        "has_additional",
        "has_lists",
        "has_resources",
        "has_rules",
        "items",
        "list_map_keys",
        "list_type",
        "nullable",
        "parent",
        "preserve",
        "properties",
        "raw",
        "step",
    )

    properties: dict[str, Structural]
    items: Structural | None
    additional: Structural | None
    """Schema in additionalProperties; None also for true and false."""
    has_additional: bool
    """Whether additionalProperties is present."""
    has_lists: bool
    """Whether lists of type set or map may exist here or below."""
    has_resources: bool
    """Whether embedded resources may exist here or below."""
    has_rules: bool
    """Whether rules may exist here or below."""
    defaults: tuple[tuple[str, Any, bool], ...]
    """Name, pruned default and nullable of the properties that have a default (see defaulting.prune)."""

    def __init__(self, raw: Props | None, parent: Structural | None = None, step: str | None = None) -> None:
        self.raw = raw = raw or _NONE
        self.parent = parent
        self.step = step
        """Property that leads here from the parent ("*" for any property), None for an item."""
        self.default: Any = raw.get("default")
        """Value for an absent field; None for no default."""
        self.nullable = raw.get("nullable") is True
        self.preserve = raw.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded = raw.get("x-kubernetes-embedded-resource") is True
        self.list_type: str = raw.get("x-kubernetes-list-type") or ""
        self.list_map_keys: list[str] = raw.get("x-kubernetes-list-map-keys") or []

    def __getattr__(self, name: str) -> Any:
        # Called only while the slot is empty.
        value: Any
        if name == "properties":
            value = {key: Structural(child, self, key) for key, child in (self.raw.get("properties") or _NONE).items()}
        elif name == "items":
            raw = self.raw.get("items")
            value = Structural(raw, self) if isinstance(raw, Mapping) else None
        elif name == "additional":
            raw = self.raw.get("additionalProperties")
            value = Structural(raw, self, "*") if isinstance(raw, Mapping) else None
        elif name == "has_additional":
            value = self.raw.get("additionalProperties") is not None
        elif name == "has_lists":
            value = _mentions(self.raw, b"x-kubernetes-list-type")
        elif name == "has_resources":
            value = _mentions(self.raw, b"x-kubernetes-embedded-resource")
        elif name == "has_rules":
            value = _mentions(self.raw, RULES.encode())
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    def as_resource(self) -> Structural:
        """Return this schema as that of a whole object, which always has apiVersion, kind and metadata."""
        if self.embedded:
            return self
        resource = Structural(self.raw, self.parent, self.step)
        resource.embedded = True
        resource.properties = self.properties
        resource.additional = self.additional
        return resource

    @property
    def root(self) -> Structural:
        """Return the schema of the whole object."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def children(self) -> Iterator[Structural]:
        """Yield the nodes directly below."""
        yield from self.properties.values()
        if self.items is not None:
            yield self.items
        if self.additional is not None:
            yield self.additional


def _mentions(raw: Props, keyword: bytes) -> bool:
    """Return whether a keyword may occur in a schema; false positives are possible, false negatives are not."""
    try:
        return keyword in orjson.dumps(raw)
    except TypeError:
        return True


def unsupported_field(props: Props | None) -> str:
    """Return why the schema cannot be converted to a structural one, "" if it can (NewStructural's error)."""
    pending: list[Any] = [props]
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping):
            continue
        if reason := _unsupported_here(node):
            return reason
        children: list[Any] = [node.get("not")]
        for junctor in _JUNCTORS:
            children += node.get(junctor) or ()
        children += [node.get("items"), *(node.get("properties") or _NONE).values(), node.get("additionalProperties")]
        pending += reversed(children)
    return ""


def _unsupported_here(node: Props) -> str:
    for key in _UNSUPPORTED:
        # Unlike an empty string or map, `additionalItems: false` is a value.
        if node.get(key) or (key == "additionalItems" and node.get(key) is not None):
            return f"OpenAPIV3Schema '{_UNSUPPORTED_NAMES.get(key, key)}' is not supported"
    if node.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(node.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return ""
