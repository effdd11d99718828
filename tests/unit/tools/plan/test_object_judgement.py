"""Objects on their way from one definition to another."""

from apiext.resources.evaluation.compiled_definition import open_converters
from apiext.tools.judgement.outcome import FindingKind, ObjectsReport
from apiext.tools.plan.object_judgement import WayJudge, segments
from apiext.tools.plan.step_finder import StoredFacts, find_steps
from apiext.tools.releases.interface import SourceObject
from tests.support.builders.plans import WEBHOOK, created, custom, shaped

OLD = created(shaped("v1", "a", "host", storage=True))
NEW = created(shaped("v2", "a", storage=True))
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
