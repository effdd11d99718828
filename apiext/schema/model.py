"""The structural schema: the part of an openAPIV3Schema that specifies fields (schema/structural.go, convert.go)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final

import orjson

from apiext.schema.keywords import JUNCTORS, KEYWORDS

Props = Mapping[str, Any]
"""A JSONSchemaProps of apiextensions.k8s.io/v1 as it stands in the CRD."""

_Place = tuple[Props, "_Place | None", str | None]
"""The schema of the whole object, the place above, and the step that leads here from there."""

Default = tuple[str, Any, bool, int]
"""The default of a property: its name, the pruned value, whether null is allowed, and its steps (base/scheduling/inline_work.py)."""

RULES: Final = "x-kubernetes-validations"
"""Member of a schema that has its CEL rules."""
_LIST_TYPE: Final = b"x-kubernetes-list-type"
_EMBEDDED: Final = b"x-kubernetes-embedded-resource"
MANY_PROPERTIES: Final = 1000
"""Properties of a node above which each of their nodes is made for itself; below, all of them take less than 2 ms."""
_NONE: Props = {}
_UNSUPPORTED = tuple(each.name for each in KEYWORDS if not each.structural)
_UNSUPPORTED_NAMES = {"$schema": "schema"}


class Structural:
    """A node of a structural schema; its children are created on first use.

    A schema may have thousands of properties of which an object uses a few, so unused nodes cost nothing.
    """

    defaults: tuple[Default, ...]
    """The defaults of the properties (see defaulting.prune)."""
    pruned: tuple[Any, int]
    """The pruned default, and the steps of a copy."""

    def __init__(self, raw: Props | None, place: _Place | None = None) -> None:
        self.raw = raw = raw or _NONE
        # the node above would be a reference cycle: each former definition would stay until a full garbage collection
        self._place = (raw, None, None) if place is None else place
        self.default: Any = raw.get("default")
        """Value for an absent field; None for no default."""
        self.nullable = raw.get("nullable") is True
        self.preserve = raw.get("x-kubernetes-preserve-unknown-fields") is True
        self.embedded = raw.get("x-kubernetes-embedded-resource") is True
        self.list_type: str = raw.get("x-kubernetes-list-type") or ""
        self.list_map_keys: list[str] = raw.get("x-kubernetes-list-map-keys") or []

    def _below(self, step: str | None) -> _Place:
        return self._place[0], self._place, step

    @cached_property
    def properties(self) -> Mapping[str, Structural]:
        """Return the nodes of the properties."""
        raw = self.raw.get("properties") or _NONE
        if len(raw) > MANY_PROPERTIES:
            return _Nodes(raw, self._place)
        return {key: Structural(child, self._below(key)) for key, child in raw.items()}

    @cached_property
    def items(self) -> Structural | None:
        """Return the node of the items of a list."""
        raw = self.raw.get("items")
        return Structural(raw, self._below(None)) if isinstance(raw, Mapping) else None

    @cached_property
    def additional(self) -> Structural | None:
        """Return the schema in additionalProperties; None also for true and false."""
        raw = self.raw.get("additionalProperties")
        return Structural(raw, self._below("*")) if isinstance(raw, Mapping) else None

    @cached_property
    def has_additional(self) -> bool:
        """Return whether additionalProperties is present."""
        return self.raw.get("additionalProperties") is not None

    @cached_property
    def _mentioned(self) -> tuple[bool, bool, bool]:
        """Return whether the keywords of lists, resources and rules may occur. A schema can have a megabyte: it is searched once."""
        try:
            data = orjson.dumps(self.raw)
        except TypeError:
            return True, True, True
        return _LIST_TYPE in data, _EMBEDDED in data, RULES.encode() in data

    @property
    def has_lists(self) -> bool:
        """Return whether lists of type set or map may exist here or below."""
        return self._mentioned[0]

    @property
    def has_resources(self) -> bool:
        """Return whether embedded resources may exist here or below."""
        return self._mentioned[1]

    @property
    def has_rules(self) -> bool:
        """Return whether rules may exist here or below."""
        return self._mentioned[2]

    def as_resource(self) -> Structural:
        """Return this schema as that of a whole object, which always has apiVersion, kind and metadata."""
        if self.embedded:
            return self
        resource = Structural(self.raw, self._place)
        resource.embedded = True
        resource.properties = self.properties
        resource.additional = self.additional
        return resource

    @property
    def steps(self) -> list[str | None]:
        """Return the steps from the schema of the whole object: a property ("*" for any), None for an item."""
        steps: list[str | None] = []
        _, above, step = self._place
        while above is not None:
            steps.append(step)
            _, above, step = above
        steps.reverse()
        return steps

    def surrounding(self) -> Structural:
        """Return a node for the schema of the whole object, without the properties that do not lead here: they may be thousands."""
        raw = self._place[0]
        levels: list[tuple[Props, str, str | None]] = []
        for step in self.steps:
            properties = raw.get("properties") or _NONE
            if step is not None and step in properties:
                name, below = "properties", properties[step]
            else:
                name = "items" if step is None else "additionalProperties"
                below = raw.get(name)
            levels.append((raw, name, step))
            raw = below or _NONE
        for above, name, step in reversed(levels):
            raw = {**above, "properties": {step: raw}} if name == "properties" else {**above, "properties": _NONE, name: raw}
        return Structural(raw)

    def children(self) -> Iterator[Structural]:
        """Yield the nodes directly below."""
        yield from self.properties.values()
        if self.items is not None:
            yield self.items
        if self.additional is not None:
            yield self.additional


class _Nodes(Mapping[str, Structural]):
    """The nodes of many properties, each made at its first use."""

    __slots__ = ("_made", "_place", "_raw")

    def __init__(self, raw: Mapping[str, Props | None], place: _Place) -> None:
        """Take the schemas of the properties, and the place of their object."""
        self._raw = raw
        self._place = place
        self._made: dict[str, Structural] = {}

    def __getitem__(self, key: str) -> Structural:
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Structural(self._raw[key], (self._place[0], self._place, key))
        return found

    def get(self, key: str, default: Any = None) -> Any:
        """Return the node of a property, or the default."""
        return self[key] if key in self._raw else default

    def __contains__(self, key: object) -> bool:
        return key in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


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
        for junctor in JUNCTORS:
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
