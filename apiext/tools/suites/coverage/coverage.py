"""The coverage of definitions by the cases of a run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.tools.reports.texts import printable
from apiext.tools.suites.model import SuiteError
from apiext.tools.suites.objects import CaseObjectError, parse_object
from apiext.tools.suites.suite_manifests import read_definition

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.suites.model import FinishedCase


_LONGEST: Final = 160
_PLURALS: Final = {"property": "properties", "enum value": "enum values", "rule": "rules", "required": "required", "limit": "limits"}
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


@dataclass(slots=True)
class VersionCoverage:
    """The coverage of a version of a CRD, over all manifests that cases ran with."""

    crd: str
    version: str
    points: dict[Point, None] = field(default_factory=dict)
    """In the order of the schema."""
    touched: set[Point] = field(default_factory=set)

    @property
    def untouched(self) -> list[Point]:
        """Return the points that no case touched."""
        return [point for point in self.points if point not in self.touched]

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of touched and of all points by kind."""
        every, left = Counter(point.kind for point in self.points), Counter(point.kind for point in self.untouched)
        return {str(kind): (every[kind] - left[kind], every[kind]) for kind in PointKind if every[kind]}

    def as_document(self) -> Object:
        """Return the coverage as JSON."""
        numbers = {kind: {"touched": touched, "all": every} for kind, (touched, every) in self.counts().items()}
        untouched = [{"kind": str(point.kind), "path": point.path, "text": point.text} for point in self.untouched]
        return {"crd": self.crd, "version": self.version, "counts": numbers, "untouched": untouched}


def coverage_of(finished: Sequence[FinishedCase]) -> list[VersionCoverage]:
    """Return the coverage of each version that a case wrote, by name."""
    found: dict[tuple[str, str], VersionCoverage] = {}
    schemas: dict[tuple[Path, str], dict[str, Any]] = {}
    for each in finished:
        suite = each.variant.suite
        key = each.variant.manifest, suite.crd_name
        if key not in schemas:
            schemas[key] = _schemas(*key)
            for version, schema in schemas[key].items():
                if not suite.version or version == suite.version:
                    covered = found.setdefault((suite.crd_name, version), VersionCoverage(suite.crd_name, version))
                    covered.points |= dict.fromkeys(points_of(schema))
        objects = list(_objects(each.case.spec))
        versions = {str(obj.get("apiVersion")).rpartition("/")[2] for obj in objects}
        for version in versions:
            covered_version = found.get((suite.crd_name, version))
            schema = schemas[key].get(version)
            if covered_version is None or schema is None:
                continue
            for obj in objects:
                covered_version.touched |= set(touched_by_object(schema, obj))
            for refusal in each.result.refusals:
                covered_version.touched |= set(touched_by_refusal(schema, refusal["field"], refusal["message"]))
    return [found[key] for key in sorted(found)]


def _schemas(path: Path, name: str) -> dict[str, Any]:
    """Return the schemas of a definition by version; none if it cannot be read: its cases are errors then."""
    try:
        versions = read_definition(path, name)["spec"]["versions"]
    except SuiteError:
        return {}
    return {each["name"]: (each.get("schema") or {}).get("openAPIV3Schema") for each in versions}


def _objects(spec: Object) -> Iterator[Object]:
    """Yield the objects that a case sends."""
    given = [spec.get("initial"), spec.get("updated")]
    for step in spec.get("steps") or ():
        given += [step.get("create"), step.get("update"), step.get("apply"), (step.get("conversion") or {}).get("object")]
    for each in given:
        if each is not None:
            try:
                yield parse_object(each)
            except CaseObjectError:
                continue


def coverage_lines(found: Sequence[VersionCoverage]) -> Iterator[str]:
    """Yield the lines: for each version of a CRD the numbers, and what no case touched."""
    for each in found:
        numbers = ", ".join(f"{_PLURALS[kind]} {touched}/{every}" for kind, (touched, every) in each.counts().items())
        yield f"{each.crd} {each.version}: {numbers or 'no schema'}"
        for point in each.untouched:
            text = printable(" ".join(str(point).split()))
            yield f"  not touched: {text if len(text) <= _LONGEST else text[:_LONGEST] + '...'}"
