"""Questions about objects that only the administrator writes; the answers of two servers must be equal."""

import http
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from hack.lib.differential.pair import Answer, Side, Step
from hack.lib.life.chapters import Chapter
from hack.lib.life.clients import APPLY, Fields
from hack.lib.life.definition import GROUP, KIND, NAME, NEW, OLD, path
from hack.lib.servers.aggregated_cluster import CRDS

SAMPLE: Final = "sample"
HIGH: Final = "sample-high"
"""A sample whose port the tightened schema refuses."""
BELL: Final = "bell"
"""An object to write during a migration: kube-controller-manager waits until its watch has passed the migration's revision."""
_TABLE: Final = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
_DRY: Final = "dryRun=All&fieldManager=asker"


@dataclass(frozen=True)
class Line:
    """A question in a chapter, and the answer."""

    chapter: str
    step: Step
    answer: Answer


def create_samples(side: Side) -> None:
    """Create the samples in the old version.

    Raises:
        AssertionError: One is refused.
    """
    for name, fields in ((SAMPLE, Fields(port=8080, protocol="UDP", tags=(("team", "a"),))), (HIGH, Fields(port=60_000)), (BELL, Fields())):
        response, data = side.raw(Step("POST", f"{path(OLD)}?fieldManager=author", fields.body(name, OLD)))
        assert response.status == http.HTTPStatus.CREATED, data


def ask_all(side: Side, chapter: Chapter) -> list[Line]:
    """Ask all questions of a chapter."""
    lines = [Line(chapter.title, step, _without_proxy(side.ask(step))) for version in (OLD, NEW) for step in _questions(version)]
    crd = side.ask(Step("GET", f"{CRDS}/{NAME}"))
    return [*lines, Line(chapter.title, Step("GET", f"{CRDS}/{NAME}"), Answer(crd.code, {}, _essence(crd.body)))]


def differences(theirs: list[Line], ours: list[Line]) -> list[str]:
    """Return the questions to which the answers differ, with both."""
    return [
        f"{one.chapter}: {one.step}\n    reference: {one.answer}\n    apiext:    {other.answer}"
        for one, other in zip(theirs, ours, strict=True)
        if one.answer != other.answer
    ]


def _without_proxy(answer: Answer) -> Answer:
    """Return an answer without the header that a proxy repeats."""
    return Answer(answer.code, {name: value for name, value in answer.headers.items() if name != "Cache-Control"}, answer.body)


def _questions(version: str) -> Iterator[Step]:
    yield Step("GET", path(version, SAMPLE))
    yield Step("GET", f"{path(version)}?fieldSelector=metadata.name={HIGH}")
    yield Step("GET", path(version, SAMPLE), headers=_TABLE)
    yield Step("POST", f"{path(version)}?{_DRY}", {"metadata": {"name": "bad"}, "spec": {"port": 70_000, "address": "none", "unknown": 1}})
    yield Step("POST", f"{path(version)}?{_DRY}", Fields(port=60_000).body("new-high", version))
    yield Step("PATCH", f"{path(version, HIGH)}?{_DRY}", {"spec": {"counter": 1}})
    yield Step("PATCH", f"{path(version, HIGH)}?{_DRY}", {"spec": {"port": 60_001, "address": "example.com:60001"}})
    yield Step("PATCH", f"{path(version, SAMPLE)}?{_DRY}", {"spec": {"tags": {"team": "b"}}})
    applied = {"apiVersion": f"{GROUP}/{version}", "kind": KIND, "metadata": {"name": SAMPLE}, "spec": {"tags": {"team": "c"}}}
    yield Step("PATCH", f"{path(version, SAMPLE)}?{_DRY}", applied, APPLY)
    yield Step("PATCH", f"{path(version, SAMPLE)}?{_DRY}&force=true", applied, APPLY)
    yield Step("DELETE", f"{path(version, SAMPLE)}?dryRun=All")


def _essence(crd: Any) -> Any:
    """Return the comparable parts of the definition."""
    status = crd["status"]
    shown = ("NamesAccepted", "Established", "NonStructuralSchema")
    conditions = sorted((one["type"], one["status"], one["reason"], one["message"]) for one in status["conditions"] if one["type"] in shown)
    return {"storedVersions": status["storedVersions"], "acceptedNames": status["acceptedNames"], "conditions": conditions}
