"""The coverage of definitions by the cases of a run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from apiext.tools.suites.coverage.schema_points import Point, PointKind, points_of, touched_by_object, touched_by_refusal
from apiext.tools.suites.model import SuiteError
from apiext.tools.suites.objects import CaseObjectError, parse_object
from apiext.tools.suites.suite_manifests import read_definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.suites.model import FinishedCase


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
