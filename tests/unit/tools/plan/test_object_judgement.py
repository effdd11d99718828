"""Objects on their way from one definition to another."""

from typing import Any

from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.compiled_definition import open_converters
from apiext.tools.judgement.outcome import FindingKind, ObjectsReport
from apiext.tools.plan.object_judgement import Segment, WayJudge, segments
from apiext.tools.plan.step_finder import StoredFacts, find_steps
from apiext.tools.releases.interface import SourceObject
from tests.support.builders.plans import WEBHOOK, created, custom, shaped

OLD = created(shaped("v1", "a", "host", storage=True))
NEW = created(shaped("v2", "a", storage=True))
MORE = created(shaped("v1", "a", "host", storage=True), shaped("v2", "a", "size"), shaped("v3", "a", served=False))
OLD_LABELS = created(shaped("v1", "host"), shaped("v2", "host", storage=True))
NEW_LABELS = created(shaped("v1", "host"), shaped("v2", "address", storage=True), conversion=WEBHOOK)


async def test_judges_along_the_migration() -> None:
    """Judge objects in the definition between, migrate them, and judge them under the new one."""
    way = segments(OLD, NEW, find_steps(OLD, NEW, StoredFacts()))
    assert [(part.old is OLD, part.new is NEW) for part in way] == [(True, False), (False, True)]

    async with open_converters(OLD, way[0].new) as first, open_converters(way[1].old, NEW) as second:
        judge = WayJudge([(way[0], first), (way[1], second)])
        after = await judge.add([SourceObject("default/w", custom("w", "v1", a="x", host="h"))], continues=True)

    report = judge.report()
    assert [one.object["apiVersion"] for one in after] == ["example.com/v2"]
    assert after[0].object["spec"] == {"a": "x"}
    assert (report.total, report.stored) == (1, {"v1": 1})
    assert FindingKind.LOST in {finding.kind for finding in report.findings}


async def test_relabels() -> None:
    """Judge bytes under the label that they get before the release."""
    found = find_steps(OLD_LABELS, NEW_LABELS, StoredFacts())
    (part,) = segments(OLD_LABELS, NEW_LABELS, found)

    async with open_converters(OLD_LABELS, NEW_LABELS, calls=False) as converters:
        judge = WayJudge([(part, converters)], found.relabelled)
        await judge.add([SourceObject("default/w", custom("w", "v2", host="h"), is_stored=True)], continues=False)

    report: ObjectsReport = judge.report()
    assert report.stored == {"v2": 1}
    assert [finding for finding in report.findings if finding.kind is FindingKind.PRUNED] == []


async def _judged(old: Definition, new: Definition, *objects: SourceObject) -> tuple[ObjectsReport, list[str]]:
    """Return the report about objects, and the keys of those that exist."""
    async with open_converters(old, new) as converters:
        judge = WayJudge([(Segment(old, new), converters)])
        after = await judge.add(objects, continues=True)
    return judge.report(), [one.key for one in after]


def _manifest(name: str, api_version: str, **spec: Any) -> SourceObject:
    given = {"apiVersion": f"example.com/{api_version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}
    return SourceObject(f"default/{name}", given)


async def test_objects_of_the_new_release_only() -> None:
    """Judge an object whose version only the new definition serves as a create: it does not exist, and is stored nowhere."""
    report, existing = await _judged(
        OLD, MORE, _manifest("one", "v1", a="x"), _manifest("two", "v2", a="x"), _manifest("three", "v2", a=1, host="h")
    )

    assert (report.total, report.only_new, report.unchanged, report.invalid, report.stored) == (3, 2, 2, 1, {"v1": 1})
    assert existing == ["default/one"]
    assert {(found.kind, found.version, found.path) for found in report.findings} == {
        (FindingKind.INVALID, "v2", "spec.a"),
        (FindingKind.PRUNED, "v2", "spec.host"),
    }


async def test_objects_of_no_release() -> None:
    """Count objects whose version no definition serves as not judged, and leave those alone that are stored in such a version."""
    stored = SourceObject("default/s", custom("s", "v9", a="x"), is_stored=True)
    report, existing = await _judged(OLD, MORE, _manifest("a", "v9"), _manifest("b", "v3"), _manifest("c", "v9"), stored)

    assert [(part.what, part.reason) for part in report.not_judged] == [
        ("1 object in v3", "no definition serves the version"),
        ("2 objects in v9", "no definition serves the version"),
    ]
    assert (report.total, report.only_new, existing) == (1, 0, ["default/s"])
    assert [(found.kind, found.version, found.already) for found in report.findings] == [
        (FindingKind.UNREADABLE, "v1", 1),
        (FindingKind.UNREADABLE, "v2", 1),
    ]
