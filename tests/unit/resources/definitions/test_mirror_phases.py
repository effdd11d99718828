"""Responses about the instances of mirrors in each phase."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import pytest

from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.serving.definition_instances import DefinitionInstances
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.host_annotations import FROZEN, HOST_UID, IMPORTING, LEAVING, PHASE, SERVING
from apiext.resources.definitions import mirror_phases
from apiext.storage.interface import Event
from apiext.storage.rendering.watch_queue import WatchQueue
from tests.support.builders import crds
from tests.support.builders.crds import widget_crd
from tests.support.event_loop import until
from tests.support.refusals import refusal
from tests.support.servers.in_process import CRDS, Answer, InProcess
from tests.support.servers.lagging_server import lagging_server

BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
ALL: Final = "/apis/example.com/v1/widgets"
NAME: Final = "widgets.example.com"
MERGE: Final = {"Content_Type": "application/merge-patch+json"}
COMING = "widgets.example.com is being imported from another server: it cannot be written now"
GOING = "widgets.example.com is being returned to the server that it was imported from: it cannot be written now"


def widget(name: str, **metadata: Any) -> dict[str, Any]:
    """Return a widget."""
    return crds.widget(name, metadata=metadata, replicas=1)


async def set_phase(server: InProcess, phase: str) -> None:
    """Make the definition a mirror in a phase, and update this server's catalog."""
    patch = {"metadata": {"annotations": {HOST_UID: "u", PHASE: phase}}}
    answer = await server.ask("PATCH", f"{CRDS}/{NAME}", patch, **MERGE)
    assert answer.status == 200, answer.body


@pytest.fixture
async def plain() -> AsyncIterator[InProcess]:
    """Yield a server with one widget of a definition that is not a mirror."""
    async with InProcess() as running:
        await running.define(widget_crd())
        assert (await running.ask("POST", BASE, widget("a"))).status == 201
        yield running


@pytest.fixture
async def server(plain: InProcess) -> InProcess:
    """Yield a server with one widget of a mirror in phase Serving."""
    await set_phase(plain, SERVING)
    return plain


async def writes(server: InProcess, query: str = "") -> list[Answer]:
    """Return the responses to writes of every verb."""
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 2}}

    async def replace(**more: Any) -> dict[str, Any]:
        revision = (await server.ask("GET", f"{BASE}/a")).json["metadata"]["resourceVersion"]
        return widget("a", resourceVersion=revision) | more

    return [
        await server.ask("POST", f"{BASE}{query}", widget("b")),
        await server.ask("PUT", f"{BASE}/a{query}", await replace(spec={})),
        await server.ask("PATCH", f"{BASE}/a{query}", {"spec": {"replicas": 3}}, **MERGE),
        await server.ask("PUT", f"{BASE}/a/status{query}", await replace(status={"replicas": 1})),
        await server.ask("PATCH", f"{BASE}/a/status{query}", {"status": {"replicas": 3}}, **MERGE),
        await server.ask("PUT", f"{BASE}/a/scale{query}", scale),
        await server.ask("PATCH", f"{BASE}/a/scale{query}", {"spec": {"replicas": 3}}, **MERGE),
        await server.ask("DELETE", f"{BASE}/a{query}"),
        await server.ask("DELETE", f"{BASE}{query}"),
    ]


async def test_allows_writes_in_phase_serving(server: InProcess) -> None:
    """Allow all writes in phase Serving."""
    assert [answer.status for answer in await writes(server)] == [201, *[200] * 8]
    assert (await server.ask("GET", BASE)).json["items"] == []


@pytest.mark.parametrize(
    "phase, words",
    [("", COMING), (IMPORTING, COMING), (FROZEN, GOING), (LEAVING, GOING), ("Later", GOING)],
)
async def test_rejects_writes_in_other_phases(server: InProcess, phase: str, words: str) -> None:
    """Return 429 for each write in another phase or without one, also for dry runs; with Retry-After 3 while objects are returned."""
    seconds = 1 if words == COMING else 3
    before = (await server.ask("GET", f"{BASE}/a")).json
    await set_phase(server, phase)
    answers = await writes(server) + await writes(server, "?dryRun=All")

    assert {answer.status for answer in answers} == {429}
    assert {answer.headers["Retry-After"] for answer in answers} == {str(seconds)}
    assert answers[0].json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": words,
        "reason": "TooManyRequests",
        "details": {"retryAfterSeconds": seconds},
        "code": 429,
    }
    assert len({answer.body for answer in answers}) == 1
    assert (await server.ask("GET", f"{BASE}/a")).json == before


@pytest.mark.parametrize("phase", ["", IMPORTING, FROZEN])
async def test_allows_reads(server: InProcess, phase: str) -> None:
    """Answer reads and watches where only writes are refused, with the changes of other servers."""
    await set_phase(server, phase)
    listed = await server.ask("GET", BASE)
    async with server.session.get(server.url(f"{ALL}?watch=1&timeoutSeconds=60")) as stream:
        event = json_codec.loads(await asyncio.wait_for(stream.content.readline(), 30))

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert [item["metadata"]["name"] for item in listed.json["items"]] == ["a"]
    assert (await server.ask("GET", f"{BASE}/a/status")).status == (await server.ask("GET", f"{BASE}/a/scale")).status == 200


async def test_new_mirror_is_importing() -> None:
    """Reject writes to a mirror without a phase."""
    crd = widget_crd()
    crd["metadata"]["annotations"] = {HOST_UID: "u"}
    async with InProcess() as running:
        await running.define(crd)

        assert (await running.ask("POST", BASE, widget("a"))).message == COMING
        assert (await running.ask("GET", BASE)).json["items"] == []


async def test_ignores_the_phase_of_other_definitions(plain: InProcess) -> None:
    """Ignore the phase annotation of a definition that is not a mirror."""
    patch = {"metadata": {"annotations": {PHASE: LEAVING}}}
    assert (await plain.ask("PATCH", f"{CRDS}/{NAME}", patch, **MERGE)).status == 200

    assert (await plain.ask("POST", BASE, widget("b"))).status == 201
    assert (await plain.ask("GET", BASE)).status == 200


async def test_reports_unknown_subresources_and_verbs_first(server: InProcess) -> None:
    """Report an unknown subresource or verb as for other definitions."""
    await set_phase(server, FROZEN)

    assert (await server.ask("PUT", f"{BASE}/a/log", widget("a"))).status == 404
    assert (await server.ask("POST", f"{BASE}/a/status", widget("a"))).status == 405


async def test_rejects_lists_in_phase_leaving(server: InProcess) -> None:
    """Return 503 with Retry-After 1 for lists in phase Leaving, 410 for those of a revision; serve single objects."""
    revision = (await server.ask("GET", BASE)).json["metadata"]["resourceVersion"]
    await set_phase(server, LEAVING)
    listed = await server.ask("GET", ALL)
    at = [await server.ask("GET", f"{ALL}?resourceVersion={one}") for one in ("0", revision)]

    assert [(one.status, one.json["reason"]) for one in at] == [(503, "ServiceUnavailable"), (410, "Expired")]

    assert (listed.status, listed.headers["Retry-After"]) == (503, "1")
    assert listed.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "widgets.example.com is being returned to the server that it was imported from: retry the list",
        "reason": "ServiceUnavailable",
        "details": {"retryAfterSeconds": 1},
        "code": 503,
    }
    assert (await server.ask("GET", f"{BASE}/a")).status == 200


def is_expired(line: bytes) -> bool:
    """Report whether an event is the error 410."""
    event = json_codec.loads(line)
    status = event["object"]
    said = (event["type"], status["kind"], status["code"], status["reason"], status["message"])
    return said == ("ERROR", "Status", 410, "Expired", "too old resource version")


async def test_watches_end_in_phase_leaving(server: InProcess) -> None:
    """End open and new watches with 410 in phase Leaving, after the preceding changes."""
    revision = (await server.ask("GET", BASE)).json["metadata"]["resourceVersion"]
    query = f"?watch=1&timeoutSeconds=60&resourceVersion={revision}"
    async with server.session.get(server.url(ALL + query)) as one, server.session.get(server.url(BASE + query)) as two:
        await server.ask("POST", BASE, widget("b"))
        await set_phase(server, LEAVING)
        lines_seen = [(await asyncio.wait_for(stream.content.read(), 30)).splitlines() for stream in (one, two)]
    fresh = [await server.ask("GET", f"{BASE}?watch=1&timeoutSeconds=60{more}") for more in ("", f"&resourceVersion={revision}")]
    table = await server.ask("GET", f"{BASE}?watch=1", Accept="application/json;as=Table;v=v1;g=meta.k8s.io")

    assert [[json_codec.loads(line)["type"] for line in lines] for lines in lines_seen] == [["ADDED", "ERROR"]] * 2
    assert all(is_expired(lines[-1]) for lines in lines_seen)
    assert all(answer.status == 200 and is_expired(answer.body) for answer in (*fresh, table))

    await set_phase(server, SERVING)
    assert (await server.ask("GET", f"{ALL}?watch=1&timeoutSeconds=1&resourceVersion={revision}")).body.count(b"ADDED") == 1


async def test_watch_opened_during_the_phase_change_ends() -> None:
    """End a watch with 410 that was requested before phase Leaving and opened in it."""
    watches = Watches()
    queue: WatchQueue[Event] = WatchQueue()
    later: WatchQueue[Event] = WatchQueue()
    watches.refuse(mirror_phases.expired())
    watches.add(queue)
    lines_seen = [event.line for batch in [batch async for batch in queue] for event in batch]
    watches.refuse(None)
    watches.add(later)

    assert [is_expired(line) for line in lines_seen] == [True]
    assert (queue.finished, later.finished) == (True, False)


async def test_phases_keep_caches_and_watches(plain: InProcess) -> None:
    """Keep caches and watches when a definition becomes a mirror and changes its phase."""
    server = plain
    revision = (await server.ask("GET", BASE)).json["metadata"]["resourceVersion"]
    lists = server.backend.calls["list"]
    async with server.session.get(server.url(f"{ALL}?watch=1&timeoutSeconds=60&resourceVersion={revision}")) as stream:
        for phase in (IMPORTING, FROZEN, SERVING):
            await set_phase(server, phase)
            assert (await server.ask("GET", BASE)).status == 200
        await server.ask("POST", BASE, widget("b"))
        assert json_codec.loads(await stream.content.readline())["object"]["metadata"]["name"] == "b"

    assert server.backend.calls["list"] == lists


# --- the end of a mirror --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [IMPORTING, LEAVING])
async def test_removes_copies_without_finalizers(server: InProcess, phase: str) -> None:
    """Remove the instances of a mirror from the store regardless of their finalizers if another server owns them."""
    for number in range(300):
        await server.ask("POST", BASE, widget(f"w{number}", finalizers=["example.com/x"]))
    await server.backend.create("/registry/example.com/widgets/other/broken", b"no object")
    await set_phase(server, phase)
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    await until(lambda: server.catalog.get(NAME) is None)

    assert (await server.backend.list("/registry/example.com/widgets/")).count == 0


async def test_deletes_instances_in_phase_serving(server: InProcess) -> None:
    """Respect finalizers when a mirror is deleted in phase Serving; delete nothing in phase Frozen."""
    await server.ask("POST", BASE, widget("kept", finalizers=["example.com/x"]))
    await set_phase(server, FROZEN)
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    await until(lambda: _said(server, "InstanceDeletionFailed"))
    assert len((await server.ask("GET", BASE)).json["items"]) == 2

    await set_phase(server, SERVING)
    revision = (await server.ask("GET", f"{BASE}/kept")).json["metadata"]["resourceVersion"]
    query = f"?watch=1&fieldSelector=metadata.name%3Dkept&resourceVersion={revision}"
    async with server.session.get(server.url(BASE + query)) as stream:
        event = json_codec.loads(await asyncio.wait_for(stream.content.readline(), 30))
    assert "deletionTimestamp" in event["object"]["metadata"]
    await server.ask("PATCH", f"{BASE}/kept", {"metadata": {"finalizers": None}}, **MERGE)
    await until(lambda: server.catalog.get(NAME) is None)


def _said(server: InProcess, reason: str) -> bool:
    known_phase = server.catalog.get(NAME)
    condition = known_phase.condition("Terminating") if known_phase else None
    return condition is not None and condition["reason"] == reason


async def test_keeps_copies_of_a_later_mirror(server: InProcess) -> None:
    """Keep the instances of a new mirror with the name of the deleted one."""
    await set_phase(server, LEAVING)
    former = server.catalog.get(NAME)
    assert former is not None
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    await until(lambda: server.catalog.get(NAME) is None)
    crd = widget_crd()
    crd["metadata"]["annotations"] = {HOST_UID: "u"}
    await server.define(crd)
    await server.backend.create("/registry/example.com/widgets/default/new", json_codec.dumps(widget("new")))
    caught = await refusal(DefinitionInstances(server.cache).delete(former, "default"))

    assert caught.code == 404
    assert [item["metadata"]["name"] for item in (await server.ask("GET", BASE)).json["items"]] == ["new"]


# --- several servers ------------------------------------------------------------------------------------------------


@pytest.fixture
async def lagging(server: InProcess) -> AsyncIterator[InProcess]:
    """Yield another server on the store that receives no watch events."""
    async with lagging_server(server, BASE) as other:
        yield other


def known_phase(server: InProcess) -> str | None:
    """Return the phase in a server's catalog."""
    found = server.catalog.get(NAME)
    return found.phase if found else "gone"


async def test_stale_server_does_not_write(server: InProcess, lagging: InProcess) -> None:
    """Reject a write on a server that does not know yet that the mirror is frozen; the server then knows."""
    await set_phase(server, FROZEN)
    assert known_phase(lagging) == SERVING
    before = await server.backend.revision()
    created = await lagging.ask("POST", BASE, widget("b"))

    assert (created.status, created.message) == (429, GOING)
    assert known_phase(lagging) == FROZEN
    assert {answer.status for answer in await writes(lagging)} == {429}
    assert await server.backend.revision() == before


@pytest.mark.parametrize("step", range(8))
async def test_stale_server_rejects_each_verb(server: InProcess, lagging: InProcess, step: int) -> None:
    """Reject each verb that meets the frozen mirror first; a write without a change may succeed."""
    await set_phase(server, FROZEN)
    before = await server.backend.revision()
    revision = (await server.ask("GET", f"{BASE}/a")).json["metadata"]["resourceVersion"]
    first: list[Callable[[], Awaitable[Answer]]] = [
        lambda: lagging.ask("PATCH", f"{BASE}/a", {"spec": {"replicas": 3}}, **MERGE),
        lambda: lagging.ask("PUT", f"{BASE}/a", {**widget("a", resourceVersion=revision), "spec": {}}),
        lambda: lagging.ask("PATCH", f"{BASE}/a/status", {"status": {"replicas": 3}}, **MERGE),
        lambda: lagging.ask("PATCH", f"{BASE}/a/scale", {"spec": {"replicas": 3}}, **MERGE),
        lambda: lagging.ask("DELETE", f"{BASE}/a"),
        lambda: lagging.ask("DELETE", f"{BASE}/a", {"propagationPolicy": "Foreground"}),
        lambda: lagging.ask("DELETE", BASE),
        lambda: lagging.ask("POST", BASE, {**widget(""), "metadata": {"generateName": "x"}}),
    ]

    assert (await first[step]()).status == 429
    assert await server.backend.revision() == before


async def test_stale_server_writes_if_allowed(server: InProcess, lagging: InProcess) -> None:
    """Allow a write on a server that does not know a change of the mirror that still allows writes."""
    await server.ask("PATCH", f"{CRDS}/{NAME}", {"metadata": {"labels": {"a": "b"}}}, **MERGE)
    created = await lagging.ask("POST", BASE, widget("b"))

    assert created.status == 201
    assert (await server.ask("GET", f"{BASE}/b")).status == 200
    assert [answer.status for answer in await writes(lagging)][1:] == [200] * 8


async def test_stale_server_rejects_writes_of_deleted_mirrors(server: InProcess, lagging: InProcess) -> None:
    """Reject a write for a deleted mirror."""
    await server.ask("DELETE", f"{BASE}/a")
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    await until(lambda: server.catalog.get(NAME) is None)
    before = await server.backend.revision()
    created = await lagging.ask("POST", BASE, widget("b"))

    assert created.status == 404
    assert known_phase(lagging) == "gone"
    assert await server.backend.revision() == before
