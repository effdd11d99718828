"""What is answered about the instances of mirrors, by phase."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, cast

import pytest

from apiext.endpoints.handlers.open_watches import Watches
from apiext.meta import json_codec
from apiext.meta.errors import StatusError
from apiext.meta.host_annotations import FROZEN, HOST_UID, IMPORTING, LEAVING, PHASE, SERVING
from apiext.serving import mirror_phases
from apiext.serving.definition_instances import DefinitionInstances
from apiext.storage.backend import WatchBatch
from apiext.storage.watch_queue import WatchQueue
from tests.support.servers.in_process import CRDS, Answer, InProcess, definition
from tests.support.servers.memory_backend import MemoryBackend

BASE: Final = "/apis/example.com/v1/namespaces/default/widgets"
ALL: Final = "/apis/example.com/v1/widgets"
NAME: Final = "widgets.example.com"
MERGE: Final = {"Content_Type": "application/merge-patch+json"}
COMING = "widgets.example.com is coming here from another server: it cannot be written right now"
GOING = "widgets.example.com is going back to the server that it came from: it cannot be written right now"


def widget(name: str, **metadata: Any) -> dict[str, Any]:
    """A widget to send."""
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name, **metadata}, "spec": {"replicas": 1}}


async def turn(server: InProcess, phase: str) -> None:
    """Have the definition be a mirror in a phase; this server knows of it then."""
    patch = {"metadata": {"annotations": {HOST_UID: "u", PHASE: phase}}}
    answer = await server.ask("PATCH", f"{CRDS}/{NAME}", patch, **MERGE)
    assert answer.status == 200, answer.body


@pytest.fixture
async def plain() -> AsyncIterator[InProcess]:
    """A server that serves widgets, of which there is one, by a definition of its own."""
    async with InProcess() as running:
        await running.define(definition())
        assert (await running.ask("POST", BASE, widget("a"))).status == 201
        yield running


@pytest.fixture
async def server(plain: InProcess) -> InProcess:
    """A server that serves them by a mirror, in phase Serving."""
    await turn(plain, SERVING)
    return plain


async def writes(server: InProcess, query: str = "") -> list[Answer]:
    """The answers to writes of every kind."""
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


async def test_serving_is_normal(server: InProcess) -> None:
    """In phase Serving everything is as without phases."""
    assert [answer.status for answer in await writes(server)] == [201, *[200] * 8]
    assert (await server.ask("GET", BASE)).json["items"] == []


@pytest.mark.parametrize(
    "phase, words",
    [("", COMING), (IMPORTING, COMING), (FROZEN, GOING), (LEAVING, GOING), ("Later", GOING)],
)
async def test_writes_are_refused(server: InProcess, phase: str, words: str) -> None:
    """Outside of Serving, and without a phase, nothing is written, be it in earnest or not: 429, in a second again."""
    before = (await server.ask("GET", f"{BASE}/a")).json
    await turn(server, phase)
    answers = await writes(server) + await writes(server, "?dryRun=All")

    assert {answer.status for answer in answers} == {429}
    assert {answer.headers["Retry-After"] for answer in answers} == {"1"}
    assert answers[0].json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": words,
        "reason": "TooManyRequests",
        "details": {"retryAfterSeconds": 1},
        "code": 429,
    }
    assert len({answer.body for answer in answers}) == 1
    assert (await server.ask("GET", f"{BASE}/a")).json == before


@pytest.mark.parametrize("phase", ["", IMPORTING, FROZEN])
async def test_reads_go_on(server: InProcess, phase: str) -> None:
    """Where only writes are refused, reads and watches are answered, with what is changed by others."""
    await turn(server, phase)
    listed = await server.ask("GET", BASE)
    async with server.session.get(server.url(f"{ALL}?watch=1&timeoutSeconds=60")) as stream:
        event = json_codec.loads(await asyncio.wait_for(stream.content.readline(), 30))

    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
    assert [item["metadata"]["name"] for item in listed.json["items"]] == ["a"]
    assert (await server.ask("GET", f"{BASE}/a/status")).status == (await server.ask("GET", f"{BASE}/a/scale")).status == 200


async def test_a_new_mirror_is_importing() -> None:
    """A mirror that has never been in any phase is not written to."""
    crd = definition()
    crd["metadata"]["annotations"] = {HOST_UID: "u"}
    async with InProcess() as running:
        await running.define(crd)

        assert (await running.ask("POST", BASE, widget("a"))).message == COMING
        assert (await running.ask("GET", BASE)).json["items"] == []


async def test_a_phase_alone_says_nothing(plain: InProcess) -> None:
    """A definition that is no mirror has no phases, whatever its annotations say."""
    patch = {"metadata": {"annotations": {PHASE: LEAVING}}}
    assert (await plain.ask("PATCH", f"{CRDS}/{NAME}", patch, **MERGE)).status == 200

    assert (await plain.ask("POST", BASE, widget("b"))).status == 201
    assert (await plain.ask("GET", BASE)).status == 200


async def test_what_is_not_there_is_told_first(server: InProcess) -> None:
    """A subresource that there is not, and a verb that there is not, are refused as ever."""
    await turn(server, FROZEN)

    assert (await server.ask("PUT", f"{BASE}/a/log", widget("a"))).status == 404
    assert (await server.ask("POST", f"{BASE}/a/status", widget("a"))).status == 405


async def test_lists_while_leaving(server: InProcess) -> None:
    """In phase Leaving lists are 503, in a second again, and those of a revision 410; single objects are read."""
    revision = (await server.ask("GET", BASE)).json["metadata"]["resourceVersion"]
    await turn(server, LEAVING)
    listed = await server.ask("GET", ALL)
    at = [await server.ask("GET", f"{ALL}?resourceVersion={one}") for one in ("0", revision)]

    assert [(one.status, one.json["reason"]) for one in at] == [(503, "ServiceUnavailable"), (410, "Expired")]

    assert (listed.status, listed.headers["Retry-After"]) == (503, "1")
    assert listed.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "widgets.example.com is going back to the server that it came from: list it again",
        "reason": "ServiceUnavailable",
        "details": {"retryAfterSeconds": 1},
        "code": 503,
    }
    assert (await server.ask("GET", f"{BASE}/a")).status == 200


def ended(line: bytes) -> bool:
    """Whether an event tells that the resourceVersion is too old."""
    event = json_codec.loads(line)
    status = event["object"]
    said = (event["type"], status["kind"], status["code"], status["reason"], status["message"])
    return said == ("ERROR", "Status", 410, "Expired", "too old resource version")


async def test_watches_end_on_leaving(server: InProcess) -> None:
    """When a mirror is to leave, every open watch tells what has happened and that it has expired, and so does every new one."""
    revision = (await server.ask("GET", BASE)).json["metadata"]["resourceVersion"]
    query = f"?watch=1&timeoutSeconds=60&resourceVersion={revision}"
    async with server.session.get(server.url(ALL + query)) as one, server.session.get(server.url(BASE + query)) as two:
        await server.ask("POST", BASE, widget("b"))
        await turn(server, LEAVING)
        told = [(await asyncio.wait_for(stream.content.read(), 30)).splitlines() for stream in (one, two)]
    fresh = [await server.ask("GET", f"{BASE}?watch=1&timeoutSeconds=60{more}") for more in ("", f"&resourceVersion={revision}")]
    table = await server.ask("GET", f"{BASE}?watch=1", Accept="application/json;as=Table;v=v1;g=meta.k8s.io")

    assert [[json_codec.loads(line)["type"] for line in lines] for lines in told] == [["ADDED", "ERROR"]] * 2
    assert all(ended(lines[-1]) for lines in told)
    assert all(answer.status == 200 and ended(answer.body) for answer in (*fresh, table))

    await turn(server, SERVING)
    assert (await server.ask("GET", f"{ALL}?watch=1&timeoutSeconds=1&resourceVersion={revision}")).body.count(b"ADDED") == 1


async def test_a_watch_that_is_being_opened() -> None:
    """A watch whose request came before the phase began, and that is open only after that, ends likewise."""
    watches, queue, later = Watches(), WatchQueue(), WatchQueue()
    watches.refuse(mirror_phases.ended())
    watches.add(queue)
    told = [event.line for batch in [batch async for batch in queue] for event in batch]
    watches.refuse(None)
    watches.add(later)

    assert [ended(line) for line in told] == [True]
    assert (queue.active, later.active) == (False, True)


async def test_marks_change_nothing_else(plain: InProcess) -> None:
    """A definition that becomes a mirror, and goes from phase to phase, keeps its caches and its watches."""
    server = plain
    revision = (await server.ask("GET", BASE)).json["metadata"]["resourceVersion"]
    lists = server.backend.calls["list"]
    async with server.session.get(server.url(f"{ALL}?watch=1&timeoutSeconds=60&resourceVersion={revision}")) as stream:
        for phase in (IMPORTING, FROZEN, SERVING):
            await turn(server, phase)
            assert (await server.ask("GET", BASE)).status == 200
        await server.ask("POST", BASE, widget("b"))
        assert json_codec.loads(await stream.content.readline())["object"]["metadata"]["name"] == "b"

    assert server.backend.calls["list"] == lists


# --- the end of a mirror --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("phase", [IMPORTING, LEAVING])
async def test_copies_are_removed(server: InProcess, phase: str) -> None:
    """With a mirror whose instances are another server's they go from the store as they are, whatever keeps them."""
    for number in range(300):
        await server.ask("POST", BASE, widget(f"w{number}", finalizers=["example.com/x"]))
    await server.backend.create("/registry/example.com/widgets/other/broken", b"no object")
    await turn(server, phase)
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    await server.until(lambda: server.catalog.get(NAME) is None)

    assert (await server.backend.list("/registry/example.com/widgets/")).count == 0


async def test_instances_are_deleted_in_order_while_serving(server: InProcess) -> None:
    """With a mirror in phase Serving instances end as their finalizers let them; in phase Frozen, not before it has gone on."""
    await server.ask("POST", BASE, widget("kept", finalizers=["example.com/x"]))
    await turn(server, FROZEN)
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    await server.until(lambda: _said(server, "InstanceDeletionFailed"))
    assert len((await server.ask("GET", BASE)).json["items"]) == 2

    await turn(server, SERVING)
    revision = (await server.ask("GET", f"{BASE}/kept")).json["metadata"]["resourceVersion"]
    query = f"?watch=1&fieldSelector=metadata.name%3Dkept&resourceVersion={revision}"
    async with server.session.get(server.url(BASE + query)) as stream:
        event = json_codec.loads(await asyncio.wait_for(stream.content.readline(), 30))
    assert "deletionTimestamp" in event["object"]["metadata"]
    await server.ask("PATCH", f"{BASE}/kept", {"metadata": {"finalizers": None}}, **MERGE)
    await server.until(lambda: server.catalog.get(NAME) is None)


def _said(server: InProcess, reason: str) -> bool:
    known = server.catalog.get(NAME)
    condition = known.condition("Terminating") if known else None
    return condition is not None and condition["reason"] == reason


async def test_copies_of_a_later_mirror_stay(server: InProcess) -> None:
    """Who is late with the end of a mirror does no harm to the next one of its name."""
    await turn(server, LEAVING)
    former = server.catalog.get(NAME)
    assert former is not None
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    await server.until(lambda: server.catalog.get(NAME) is None)
    crd = definition()
    crd["metadata"]["annotations"] = {HOST_UID: "u"}
    await server.define(crd)
    await server.backend.create("/registry/example.com/widgets/default/new", json_codec.dumps(widget("new")))
    with pytest.raises(StatusError) as caught:
        await DefinitionInstances(server.cache).delete(former, "default")

    assert caught.value.code == 404
    assert [item["metadata"]["name"] for item in (await server.ask("GET", BASE)).json["items"]] == ["new"]


# --- several servers ------------------------------------------------------------------------------------------------


class Late:
    """A backend as a server sees it whose watches tell nothing for a while."""

    def __init__(self, backend: MemoryBackend) -> None:
        self._backend = backend
        self.hears = asyncio.Event()
        self.hears.set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncIterator[WatchBatch]:
        """Implements Backend.watch."""
        async for batch in self._backend.watch(prefix, start=start, previous=previous):
            await self.hears.wait()
            yield batch


@pytest.fixture
async def lagging(server: InProcess) -> AsyncIterator[InProcess]:
    """Another server on the store, which hears of nothing any more."""
    late = Late(server.backend)
    async with InProcess(backend=cast("MemoryBackend", late), max_wait=0.01) as other:
        assert (await other.ask("GET", BASE)).status == 200
        late.hears.clear()
        yield other
        late.hears.set()


def known(server: InProcess) -> str | None:
    """The phase that a server knows."""
    found = server.catalog.get(NAME)
    return found.phase if found else "gone"


async def test_a_server_that_is_behind_does_not_write(server: InProcess, lagging: InProcess) -> None:
    """Once a mirror is frozen, no server writes, though it does not know yet; and then it does."""
    await turn(server, FROZEN)
    assert known(lagging) == SERVING
    before = await server.backend.revision()
    created = await lagging.ask("POST", BASE, widget("b"))

    assert (created.status, created.message) == (429, GOING)
    assert known(lagging) == FROZEN
    assert {answer.status for answer in await writes(lagging)} == {429}
    assert await server.backend.revision() == before


@pytest.mark.parametrize("step", range(8))
async def test_no_kind_of_write_slips_through(server: InProcess, lagging: InProcess, step: int) -> None:
    """That holds for each kind of write that meets the frozen mirror first; what would change nothing may be told so."""
    await turn(server, FROZEN)
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


async def test_a_server_that_is_behind_goes_on(server: InProcess, lagging: InProcess) -> None:
    """When the mirror has changed and may still be written to, a server that does not know is not kept from it."""
    await server.ask("PATCH", f"{CRDS}/{NAME}", {"metadata": {"labels": {"a": "b"}}}, **MERGE)
    created = await lagging.ask("POST", BASE, widget("b"))

    assert created.status == 201
    assert (await server.ask("GET", f"{BASE}/b")).status == 200
    assert [answer.status for answer in await writes(lagging)][1:] == [200] * 8


async def test_a_server_that_is_behind_the_end(server: InProcess, lagging: InProcess) -> None:
    """Nothing is written for a mirror that is gone."""
    await server.ask("DELETE", f"{BASE}/a")
    await server.ask("DELETE", f"{CRDS}/{NAME}")
    await server.until(lambda: server.catalog.get(NAME) is None)
    before = await server.backend.revision()
    created = await lagging.ask("POST", BASE, widget("b"))

    assert created.status == 404
    assert known(lagging) == "gone"
    assert await server.backend.revision() == before
