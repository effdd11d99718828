"""The judgement of objects by pairs of definitions."""

from typing import Any

import pytest

from apiext.resources.definitions.definition import Definition
from apiext.resources.evaluation.compiled_definition import open_converters
from apiext.tools.judgement.judge import Judge
from apiext.tools.judgement.outcome import FindingKind, ObjectsReport
from apiext.tools.releases.interface import SourceObject
from tests.support.builders.crds import crd, definition, version
from tests.support.builders.definition_pairs import INTEGER, PAIRS, STATUS, STRING, DefinitionPair, root, struct, v1
from tests.support.judged_objects import stored_objects

Json = dict[str, Any]


async def judged(pair: DefinitionPair) -> ObjectsReport:
    """Return the judgement of a pair."""
    old, new = definition(pair.crd(pair.old)), definition(pair.crd(pair.new))
    objects = await stored_objects(old, pair.objects)
    async with open_converters(old, new) as converters:
        judge = Judge(old, new, converters=converters)
        await judge.add(objects)
        return judge.report()


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
async def test_each_change_has_its_findings(pair: DefinitionPair) -> None:
    """Find in each pair exactly what its table row says."""
    report = await judged(pair)

    assert set(pair.found) == {(finding.kind, finding.version, finding.path) for finding in report.findings}


def _stored(name: str, version: str = "v1", **spec: Any) -> SourceObject:
    metadata = {"name": name, "namespace": "default", "uid": name, "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    obj = {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": metadata, "spec": spec}
    return SourceObject(f"default/{name}", obj, is_stored=True)


def _manifest(name: str, version: str = "v1", **spec: Any) -> SourceObject:
    return SourceObject(name, {"apiVersion": f"example.com/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec})


def _one(*versions: Json) -> Definition:
    return definition(crd("widgets", *versions, conversion={"strategy": "None"}))


async def _judge(old: Definition | None, new: Definition, *objects: SourceObject) -> ObjectsReport:
    async with open_converters(old, new) as converters:
        judge = Judge(old, new, converters=converters)
        await judge.add(objects)
        return judge.report()


def _kinds(report: ObjectsReport) -> set[tuple[FindingKind, str, str]]:
    return {(found.kind, found.version, found.path) for found in report.findings}


async def test_objects_are_counted() -> None:
    """Count objects by version and by what happens to them, and name the largest cost."""
    rules = root(size=INTEGER | {"x-kubernetes-validations": [{"rule": "self < 5"}]}, host=STRING)
    report = await _judge(
        _one(v1(root(size=INTEGER, host=STRING))), _one(v1(rules)), _stored("a", size=1), _stored("b", size=7), _stored("c", host="x")
    )

    assert (report.total, report.unchanged, report.invalid, report.tolerated, report.stuck) == (3, 2, 1, 1, 0)
    assert report.stored == {"v1": 3}
    assert report.stored_is_exact
    assert 0 < report.cost_share < 0.001
    assert report.cost_object == "default/a"


async def test_a_bad_status_counts() -> None:
    """Count an object whose status breaks a rule, also if a create would drop it and every update tolerates it."""
    old = _one(v1(root(size=INTEGER), **STATUS))
    new = _one(v1(root(size=INTEGER, status=struct("self.count < 3", count=INTEGER)), **STATUS))
    bad = _stored("a", size=1)
    bad.object["status"] = {"count": 3}
    report = await _judge(old, new, bad, _stored("b", size=1))
    created = await _judge(None, new, bad)

    assert (report.invalid, report.tolerated, report.stuck) == (1, 1, 0)
    assert (created.invalid, _kinds(created)) == (1, {(FindingKind.INVALID, "v1", "status")})


async def test_the_largest_cost_is_that_of_the_largest_object() -> None:
    """Count costs exactly, and name the object that uses most of the budget."""
    rule = "self.all(x, self.all(y, x == y || x != y))"
    costly = v1(root(list={"type": "array", "items": STRING, "x-kubernetes-validations": [{"rule": rule}]}))
    report = await _judge(
        _one(costly), _one(costly), _stored("a", list=["x"] * 3), _stored("b", list=["x"] * 400), _stored("c", list=["x"] * 9)
    )

    assert report.cost_object == "default/b"
    assert report.cost_share > 0.5


async def test_problems_that_exist_already_are_marked() -> None:
    """Say how many objects have the same problem under the old definition."""
    old = _one(v1(root("self.spec.size < 5", size=INTEGER)))
    report = await _judge(old, old, _stored("a", size=9), _stored("b", size=1))
    (found,) = report.findings

    assert (found.kind, found.count, found.already) == (FindingKind.STUCK, 1, 1)


async def test_losses_that_exist_already_are_marked() -> None:
    """Say whether writes under the old definition lose the same fields."""
    both = _one(v1(root(size=INTEGER, host=STRING)), version("v2", schema=root(size=INTEGER)))
    report = await _judge(both, both, _stored("a", size=9, host="x"))
    (found,) = report.findings

    assert (found.kind, found.version, found.count, found.already) == (FindingKind.LOST, "v2", 1, 1)
    assert found.message == "a label set at v2 drops spec.host"


async def test_manifests_are_stored_by_the_old_definition() -> None:
    """Judge objects of files as the old definition would store them, and name versions that are no longer served."""
    old = _one(v1(root(size=INTEGER, mode=STRING | {"default": "x"})), version("v1beta1", schema=root(size=INTEGER)))
    report = await _judge(old, _one(v1(root(size=INTEGER))), _manifest("a", size=1), _manifest("b", "v1beta1", size=1))

    assert _kinds(report) == {(FindingKind.PRUNED, "v1", "spec.mode"), (FindingKind.UNKNOWN_VERSION, "v1beta1", "")}
    assert not report.stored_is_exact
    assert report.stored == {"v1": 1, "v1beta1": 1}


async def test_new_objects_are_created() -> None:
    """Judge manifests without an old definition by a create."""
    new = _one(v1(root(size=INTEGER | {"maximum": 5})))
    report = await _judge(
        None, new, _manifest("a", size=9), _manifest("b", other=1), _manifest("c", "v9"), _manifest("d", size=1), _manifest("E")
    )

    assert _kinds(report) == {
        (FindingKind.INVALID, "v1", "spec.size"),
        (FindingKind.INVALID, "v1", "metadata.name"),
        (FindingKind.PRUNED, "v1", "spec.other"),
        (FindingKind.UNKNOWN_VERSION, "v9", ""),
    }
    assert (report.total, report.unchanged, report.invalid) == (5, 1, 3)


async def test_rewritten_objects_show_the_rollback() -> None:
    """Judge the way back with the objects as the new definition has stored them."""
    old = _one(v1(root(size=INTEGER, host=STRING)))
    new = _one(
        version("v1", schema=root(size=INTEGER, host=STRING)),
        version("v2", storage=True, schema=root(size=INTEGER, port=INTEGER | {"default": 1})),
    )
    async with open_converters(old, new) as converters:
        judge = Judge(old, new, converters=converters)
        rewritten = await judge.rewritten([_stored("a", size=1, host="x"), _stored("b", "v9", size=1)])
    report = await _judge(new, old, *rewritten)

    assert [each.object["apiVersion"] for each in rewritten] == ["example.com/v2", "example.com/v9"]
    assert rewritten[0].object["spec"] == {"size": 1, "port": 1}
    assert _kinds(report) == {(FindingKind.UNREADABLE, "v1", "")}
    assert {found.already for found in report.findings} == {0, 1}


async def test_deep_objects_are_findings() -> None:
    """Report an object that is nested too deeply to be judged."""
    deep: Json = {}
    for _ in range(600):
        deep = {"a": deep}
    kept = _one(v1({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))
    report = await _judge(kept, kept, _stored("a", deep=deep))

    assert report.total == 1
