"""Conversions there and back with a webhook."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from apiext.base.scheduling.call_log import CallLog
from apiext.resources.conversion.interface import ConversionError, Converted, Converter
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.evaluation.compiled_definition import Converters, DefinitionConverter, RefusingConverter
from apiext.tools.judgement.judge import Judge
from apiext.tools.judgement.outcome import FindingKind, ObjectFinding, ObjectsReport
from apiext.tools.releases.interface import SourceObject
from tests.support.builders.crds import crd, definition, version
from tests.support.builders.definition_pairs import INTEGER, STRING, root, struct

Json = dict[str, Any]
WEBHOOK: Final = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": ["v1"]},
}
V1: Final = version("v1", schema=root(image=STRING, size=INTEGER))
V2: Final = version("v2", storage=True, schema=root(image=struct(name=STRING, tag=STRING), size=INTEGER, extra=STRING))
OLD: Final = definition(crd("widgets", V1 | {"storage": True}, conversion={"strategy": "None"}))
NEW: Final = definition(crd("widgets", V1, V2, conversion=WEBHOOK))


class _Webhook(Converter):
    """Converts by a function, and counts calls."""

    def __init__(self, change: Callable[[Json, str], None]) -> None:
        self._change = change
        self.called: list[tuple[int, str]] = []

    async def convert(self, objects: Sequence[Json], api_version: str, _log: CallLog | None = None) -> Sequence[Converted]:
        """Implement Converter.convert."""
        self.called.append((len(objects), api_version))
        results: list[Converted] = []
        for obj in objects:
            try:
                self._change(obj, api_version.rpartition("/")[2])
            except (ValueError, AttributeError) as error:
                results.append(ConversionError(str(error)))
            else:
                obj["apiVersion"] = api_version
                results.append(obj)
        return results


def good(obj: Json, target: str) -> None:
    """Convert without a loss: v1 keeps what it does not have in an annotation."""
    spec = obj["spec"]
    annotations = obj["metadata"].setdefault("annotations", {})
    if target == "v2":
        name, _, tag = spec.pop("image", "").partition(":")
        spec["image"] = {"name": name} | ({"tag": tag} if tag else {})
        extra = annotations.pop("extra", None)
        if extra is not None:
            spec["extra"] = extra
    else:
        image = spec.pop("image", {})
        spec["image"] = ":".join(filter(None, (image.get("name", ""), image.get("tag", ""))))
        extra = spec.pop("extra", None)
        if extra is not None:
            annotations["extra"] = extra
    if not annotations:
        del obj["metadata"]["annotations"]


def lossy(obj: Json, target: str) -> None:
    """Convert, but forget tags."""
    good(obj, target)
    if target == "v2":
        obj["spec"]["image"].pop("tag", None)


def stubborn(obj: Json, target: str) -> None:
    """Convert, but restore the size that was once seen in v2."""
    good(obj, target)
    annotations = obj["metadata"].setdefault("annotations", {})
    if target == "v1":
        annotations.setdefault("size", str(obj["spec"].get("size", 0)))
    elif "size" in annotations:
        obj["spec"]["size"] = int(annotations["size"])


def moody(obj: Json, target: str) -> None:
    """Refuse an object."""
    good(obj, target)
    if obj["metadata"]["name"] == "o1":
        raise ValueError("no conversion of this one")


def source(name: str, api_version: str = "example.com/v1", **spec: Any) -> SourceObject:
    """Return a stored object."""
    metadata = {"name": name, "namespace": "default", "uid": name, "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return SourceObject(
        f"default/{name}", {"apiVersion": api_version, "kind": "Widget", "metadata": metadata, "spec": spec}, is_stored=True
    )


async def judged(change: Callable[[Json, str], None], *objects: SourceObject) -> tuple[ObjectsReport, _Webhook]:
    """Return the judgement of the switch to a webhook."""
    webhook = _Webhook(change)
    converters = Converters(DefinitionConverter(NoneConverter()), DefinitionConverter(webhook))
    judge = Judge(OLD, NEW, converters=converters)
    await judge.add(objects or [source("o0", image="a:b", size=1), source("o1", image="c:d", size=2)])
    return judge.report(), webhook


def kinds(report: ObjectsReport) -> set[tuple[FindingKind, str, str]]:
    """Return kind, version and path of all findings."""
    return {(found.kind, found.version, found.path) for found in report.findings}


async def test_a_good_webhook_has_no_findings() -> None:
    """Find nothing where conversions keep all fields, and send pages, not objects."""
    report, webhook = await judged(good)

    assert report.findings == []
    assert report.unchanged == 2
    assert len(webhook.called) < 12


async def test_lost_fields_are_found_in_both_directions() -> None:
    """Find a field that one direction forgets."""
    report, _ = await judged(lossy)

    assert (FindingKind.ALTERED, "v2", "spec.image") in kinds(report)


async def test_former_values_that_come_back_are_found() -> None:
    """Find a change that a conversion undoes."""
    report, _ = await judged(stubborn)
    found = _of(report, FindingKind.RESURRECTED, "spec.size")

    assert [each.message.partition(" at v1 ")[0] for each in found] == ["spec.size changed", "spec.size removed"]


async def test_refused_objects_are_found_and_counted() -> None:
    """Report the error of a refused object, and judge the others."""
    report, _ = await judged(moody)
    found = [each for each in report.findings if each.kind is FindingKind.UNCONVERTIBLE]

    assert {tuple(each.examples) for each in found} == {("default/o1",)}
    assert report.unreadable == 1


async def test_bytes_of_the_newer_version_with_the_older_shape_are_found() -> None:
    """Find objects that strategy None has relabelled: their fields are those of another version."""
    both = definition(
        crd("widgets", V1, V2 | {"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}})
    )
    webhook = _Webhook(good)
    judge = Judge(both, NEW, converters=Converters(DefinitionConverter(NoneConverter()), DefinitionConverter(webhook)))
    await judge.add([source("o0", "example.com/v2", image="a:b", size=1)])
    report = judge.report()

    assert any(
        found.kind in (FindingKind.UNREADABLE, FindingKind.UNCONVERTIBLE, FindingKind.CHANGED, FindingKind.PRUNED)
        for found in report.findings
    )


async def test_without_a_webhook_the_version_of_the_bytes_is_judged() -> None:
    """Say what was not judged, and find no failures of a webhook that nobody called."""
    missing = DefinitionConverter(RefusingConverter("nobody called it"), refusal="nobody called it")
    judge = Judge(OLD, NEW, converters=Converters(DefinitionConverter(NoneConverter()), missing))
    await judge.add([source("o0", image="a:b", size=1)])
    report = judge.report()

    assert report.findings == []
    assert {(each.what, each.reason) for each in report.not_judged} == {("conversion", "nobody called it"), ("reads", "nobody called it")}


def _of(report: ObjectsReport, kind: FindingKind, path: str) -> list[ObjectFinding]:
    return [found for found in report.findings if found.kind is kind and found.path == path and found.version == "v1"]
