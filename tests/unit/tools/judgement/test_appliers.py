"""Repeated applies."""

from typing import Any, Final

import pytest

from apiext.resources.conversion.none import NoneConverter
from apiext.resources.evaluation.compiled_definition import Converters, DefinitionConverter, RefusingConverter, open_converters
from apiext.tools.judgement import appliers
from apiext.tools.judgement.judge import Judge
from apiext.tools.judgement.outcome import FindingKind, ObjectsReport
from apiext.tools.releases.interface import SourceObject
from tests.support.builders.crds import crd, definition, version
from tests.support.builders.definition_pairs import INTEGER, STATUS, STRING, root, struct, v1

Json = dict[str, Any]
OLD: Final = definition(crd("widgets", v1(root(host=STRING, size=INTEGER), **STATUS)))


def _entry(fields: Json, version: str = "v1", **more: str) -> Json:
    names = {"manager": "ci", "operation": "Apply", "apiVersion": f"example.com/{version}", "fieldsType": "FieldsV1"}
    return names | {"fieldsV1": fields} | more


def _object(*entries: Json, name: str = "a") -> SourceObject:
    metadata = {"name": name, "namespace": "default", "uid": name, "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    obj = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": metadata | {"managedFields": list(entries)},
        "spec": {"host": "h", "size": 1},
        "status": {"phase": "p", "count": 2},
    }
    return SourceObject(f"default/{name}", obj, is_stored=True)


async def _judged(new: Json, *objects: SourceObject) -> ObjectsReport:
    changed = definition(crd("widgets", new))
    async with open_converters(OLD, changed) as converters:
        judge = Judge(OLD, changed, converters=converters)
        await judge.add(objects)
        return judge.report()


def _messages(report: ObjectsReport, kind: FindingKind) -> list[str]:
    return [found.message for found in report.findings if found.kind is kind]


async def test_manifests_with_removed_fields_are_refused() -> None:
    """Say what the server answers to a manifest with a field that the schema no longer has, without the object's name."""
    report = await _judged(v1(root(size=INTEGER), **STATUS), _object(_entry({"f:spec": {"f:host": {}}})))

    assert _messages(report, FindingKind.APPLIER) == [
        "a repeated apply by ci fails: failed to create typed patch object ...: .spec.host: field not declared in schema"
    ]


async def test_manifests_without_removed_fields_are_not_affected() -> None:
    """Find nothing for a manager that does not own the removed field."""
    report = await _judged(v1(root(size=INTEGER), **STATUS), _object(_entry({"f:spec": {"f:size": {}}})))

    assert {found.kind for found in report.findings} == {FindingKind.PRUNED}


async def test_status_appliers_are_judged() -> None:
    """Repeat the apply of a status by its subresource."""
    entry = _entry({"f:status": {"f:count": {}}}, subresource="status")
    gone = await _judged(v1(root(host=STRING, size=INTEGER, status=struct(phase=STRING)), **STATUS), _object(entry))
    without = await _judged(v1(root(host=STRING, size=INTEGER)), _object(entry))

    assert _messages(gone, FindingKind.APPLIER)[0].startswith("a repeated apply by ci (status) fails")
    assert _messages(without, FindingKind.APPLIER) == ["ci (status) applies a subresource that v1 no longer has"]


def _scale(path: str) -> Json:
    return {"subresources": {"scale": {"specReplicasPath": path, "statusReplicasPath": ".status.count"}}}


@pytest.mark.parametrize(
    "more, messages",
    [
        (_scale(".spec.size"), []),
        (_scale(".spec.other"), ["a repeated apply by ci (scale) fails: .spec.other does not exist"]),
        (_scale(".spec.more"), ["a repeated apply by ci (scale) fails: the scale has another number of replicas"]),
        ({}, ["ci (scale) applies a subresource that v1 no longer has"]),
    ],
)
async def test_scale_appliers_are_judged(more: Json, messages: list[str]) -> None:
    """Repeat the apply of a Scale: it fails where the replicas are others, or nowhere."""
    fields = root(size=INTEGER, other=INTEGER, more=INTEGER | {"default": 7})
    old = definition(crd("widgets", v1(fields, **_scale(".spec.size"))))
    changed = definition(crd("widgets", v1(fields) | more))
    async with open_converters(old, changed) as converters:
        judge = Judge(old, changed, converters=converters)
        await judge.add([_object(_entry({"f:spec": {"f:size": {}}}, subresource="scale"))])

    assert _messages(judge.report(), FindingKind.APPLIER) == messages


async def test_an_applied_status_that_becomes_a_subresource_is_kept() -> None:
    """Find nothing removed by an apply of the whole object, which ignores the status from now on."""
    old = definition(crd("widgets", v1(root(host=STRING, size=INTEGER))))
    changed = definition(crd("widgets", v1(root(host=STRING, size=INTEGER), **STATUS)))
    async with open_converters(old, changed) as converters:
        judge = Judge(old, changed, converters=converters)
        await judge.add([_object(_entry({"f:spec": {"f:host": {}}, "f:status": {"f:count": {}}}))])

    assert judge.report().findings == []


async def test_applies_are_repeated_if_the_stored_version_has_another_default() -> None:
    """Refuse a manifest of an unchanged version in which reads give a default of the stored one that has another type."""
    lists = {"type": "array", "items": STRING}
    other = version("v2", schema=root(host=STRING, size=INTEGER, extra=STRING))
    old = definition(crd("widgets", v1(root(host=STRING, size=INTEGER, extra=lists)), other))
    changed = definition(crd("widgets", v1(root(host=STRING, size=INTEGER, extra=lists | {"default": ["a"]})), other))
    async with open_converters(old, changed) as converters:
        judge = Judge(old, changed, converters=converters)
        await judge.add([_object(_entry({"f:spec": {"f:host": {}}}, "v2"))])

    assert "failed to create typed live object" in _messages(judge.report(), FindingKind.APPLIER)[0]


async def test_applies_are_repeated_if_their_version_requires_a_field_with_a_default() -> None:
    """Refuse a manifest without the field: an apply sets no default, and a read sets those of the version of the stored object."""
    other = version("v2", schema=root(host=STRING, size=INTEGER))
    required = {"type": "object", "required": ["extra"], "properties": root(host=STRING, size=INTEGER)["properties"]}
    required["properties"] = required["properties"] | {"extra": STRING | {"default": "x"}}
    old = definition(crd("widgets", v1(root(host=STRING, size=INTEGER)), other))
    changed = definition(crd("widgets", v1(root(host=STRING, size=INTEGER)), version("v2", schema=required)))
    async with open_converters(old, changed) as converters:
        judge = Judge(old, changed, converters=converters)
        await judge.add([_object(_entry({"f:spec": {"f:host": {}}}, "v2"))])

    assert _messages(judge.report(), FindingKind.APPLIER) == ["a repeated apply by ci is refused: Required value"]


async def test_entries_of_unknown_versions_are_named() -> None:
    """Say which managers block every apply, and that they do already."""
    report = await _judged(
        v1(root(host=STRING, size=INTEGER), **STATUS), _object(_entry({"f:spec": {}}, "v9"), _entry({}, "v9", manager="x"))
    )
    (found,) = report.findings

    assert (found.kind, found.version, found.already) == (FindingKind.MANAGER, "v9", 1)
    assert found.message == "managedFields of ci, x name v9, which the new definition does not have: every server-side apply fails"


async def test_invalid_entries_are_findings() -> None:
    """Report managedFields that nobody can read."""
    report = await _judged(v1(root(size=INTEGER), **STATUS), _object(_entry({}, operation="Create")))

    assert "invalid managedFields" in _messages(report, FindingKind.APPLIER)[0]


async def test_few_applies_are_repeated_with_a_webhook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the calls of a webhook, and say what was left out."""
    monkeypatch.setattr(appliers, "MAX_WITH_WEBHOOK", 1)
    changed = definition(crd("widgets", v1(root(size=INTEGER), **STATUS)))
    converters = Converters(DefinitionConverter(NoneConverter()), DefinitionConverter(RefusingConverter("no")))
    judge = Judge(OLD, changed, converters=converters)
    await judge.add([_object(_entry({"f:spec": {"f:host": {}}}), name=name) for name in ("a", "b", "c")])
    report = judge.report()

    assert [each.what for each in report.not_judged] == ["appliers"]
    assert sum(found.count for found in report.findings if found.kind is FindingKind.APPLIER) == 1
