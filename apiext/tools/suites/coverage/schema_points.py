"""The points of a schema that a case can touch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final, NamedTuple

ITEM: Final = "[]"
"""In a path: any item of a list, or any value of a map."""
_ROOT_LEFT_OUT: Final = frozenset({"apiVersion", "kind", "metadata"})
_LIMITS: Final = {
    "maxLength": ("Too long",),
    "minLength": ("at least",),
    "pattern": ("should match",),
    "format": ("must be of type", "should be a valid"),
    "maximum": ("should be less than",),
    "minimum": ("should be greater than",),
    "multipleOf": ("multiple of",),
    "maxItems": ("Too many", "at most"),
    "minItems": ("at least",),
    "maxProperties": ("Too many", "at most"),
    "minProperties": ("at least",),
}
"""What the server says of a value that is beyond a limit."""


class PointKind(StrEnum):
    """The kinds of points."""

    PROPERTY = "property"
    """Touched by an object that has it."""
    ENUM = "enum value"
    """Touched by an object with the value."""
    RULE = "rule"
    """Touched by a refusal because of the rule."""
    REQUIRED = "required"
    """Touched by a refusal because the property is missing."""
    LIMIT = "limit"
    """Touched by a refusal because of the limit."""


class Point(NamedTuple):
    """A point of a schema."""

    kind: PointKind
    path: str
    text: str = ""
    """The value, the rule, the property, or the keyword."""

    def __str__(self) -> str:
        return " ".join(filter(None, (self.kind, self.path or "(root)", self.text)))


def points_of(schema: Any, path: str = "") -> Iterator[Point]:
    """Yield the points of a schema and of those below it."""
    if not isinstance(schema, dict):
        return
    for value in schema.get("enum") or ():
        yield Point(PointKind.ENUM, path, json.dumps(value))
    for rule in schema.get("x-kubernetes-validations") or ():
        yield Point(PointKind.RULE, path, rule["rule"])
    for name in schema.get("required") or ():
        yield Point(PointKind.REQUIRED, path, name)
    for keyword in _LIMITS:
        if keyword in schema:
            yield Point(PointKind.LIMIT, path, keyword)
    for name, child in (schema.get("properties") or {}).items():
        if path or name not in _ROOT_LEFT_OUT:
            below = joined(path, name)
            yield Point(PointKind.PROPERTY, below)
            yield from points_of(child, below)
    for keyword in ("items", "additionalProperties"):
        yield from points_of(schema.get(keyword), path + ITEM)


def joined(path: str, name: str) -> str:
    """Return the path of a property."""
    return f"{path}.{name}" if path else name


def touched_by_object(schema: Any, value: Any, path: str = "") -> Iterator[Point]:
    """Yield the properties and values of enumerations that an object has."""
    if not isinstance(schema, dict):
        return
    if schema.get("enum"):
        yield Point(PointKind.ENUM, path, json.dumps(value))
    if isinstance(value, list):
        for item in value:
            yield from touched_by_object(schema.get("items"), item, path + ITEM)
    elif isinstance(value, dict):
        properties = schema.get("properties") or {}
        for name, member in value.items():
            if name in properties:
                yield Point(PointKind.PROPERTY, joined(path, name))
                yield from touched_by_object(properties[name], member, joined(path, name))
            else:
                yield from touched_by_object(schema.get("additionalProperties"), member, path + ITEM)


def touched_by_refusal(schema: Any, field: str, message: str) -> Iterator[Point]:
    """Yield the rules, required properties and limits because of which a server refuses an object."""
    path, node, parent, last = _node_at(schema, field)
    if "Required value" in message:
        yield Point(PointKind.REQUIRED, parent, last)
    if not isinstance(node, dict):
        return
    for rule in node.get("x-kubernetes-validations") or ():
        said = rule.get("message") or f"failed rule: {rule['rule']}"
        # the text of a messageExpression depends on the object
        if said.strip() in message or ("messageExpression" in rule and "Invalid value" in message):
            yield Point(PointKind.RULE, path, rule["rule"])
    for keyword, texts in _LIMITS.items():
        if keyword in node and any(text in message for text in texts):
            yield Point(PointKind.LIMIT, path, keyword)


def _node_at(schema: Any, field: str) -> tuple[str, Any, str, str]:
    """Return the path, the schema, the path above it and the last name of a field as servers write it: a.b[0].c."""
    node, path, parent, last = schema, "", "", ""
    for part in _parts("" if field == "<nil>" else field):
        properties = node.get("properties") or {} if isinstance(node, dict) else {}
        parent = path
        if part != ITEM and (part in properties or not isinstance(node, dict) or not node.get("additionalProperties")):
            last, path, node = part, joined(path, part), properties.get(part)
        else:
            inner = (node.get("items") or node.get("additionalProperties")) if isinstance(node, dict) else None
            last, path, node = ITEM, path + ITEM, inner
    return path, node, parent, last


def _parts(field: str) -> Iterator[str]:
    """Yield the names in a field, and ITEM for what is in brackets."""
    name = ""
    depth = 0
    for char in field:
        if char == "[":
            if not depth and name:
                yield name
            name, depth = ("" if not depth else name), depth + 1
        elif char == "]":
            depth -= 1
            if not depth:
                yield ITEM
        elif depth:
            continue
        elif char == ".":
            if name:
                yield name
            name = ""
        else:
            name += char
    if name:
        yield name
