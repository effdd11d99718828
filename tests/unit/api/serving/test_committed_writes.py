"""Writes that have been committed: nothing starts them again, and their answers say what is stored."""

import contextlib
import os
import signal
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from apiext.base.meta import limits
from apiext.base.scheduling.inline_work import HeavyWorkError, current_work
from apiext.resources.conversion.known import Origin
from apiext.storage.backend import UnavailableError, WriteResult
from tests.support.builders.converted_widgets import conversion, new_widget, old_widget, widgets_crd
from tests.support.builders.crds import widget_crd
from tests.support.servers.in_process import CRDS, InProcess
from tests.support.servers.memory_backend import MemoryBackend

V1 = "/apis/example.com/v1/namespaces/default/widgets"
V2 = "/apis/example.com/v2/namespaces/default/widgets"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
Then = Callable[[], None]


class CommittingBackend(MemoryBackend):
    """A backend that does something right after each commit of an object."""

    def __init__(self) -> None:
        super().__init__()
        self.then: Then = lambda: None
        self.committed: list[str] = []

    async def write(self, key: str, value: bytes | None, *more: Any) -> WriteResult:
        """Act after the commit."""
        result = await super().write(key, value, *more)
        if result.succeeded and "/apiext.dev/" not in key:
            self.committed.append(key)
            self.then()
        return result


@pytest.fixture
def store() -> CommittingBackend:
    """Return the backend of the server."""
    return CommittingBackend()


@pytest.fixture
async def server(store: CommittingBackend) -> AsyncIterator[InProcess]:
    """Yield a server that converts widgets by rules."""
    async with InProcess(backend=store) as running:
        running.converters.known.put(Origin.FILE, conversion())
        await running.define(widgets_crd())
        store.committed.clear()
        yield running


def _exhaust() -> None:
    """Leave the current request no time on the event loop."""
    with contextlib.suppress(HeavyWorkError):
        current_work().step(1 << 40)


@pytest.mark.parametrize("path,build", [(V1, old_widget), (V2, new_widget)], ids=["v1", "v2"])
async def test_nothing_starts_again_after_the_commit(
    server: InProcess, store: CommittingBackend, path: str, build: Callable[..., Any]
) -> None:
    """Answer a write whose time is over right after its commit with its own object, not with the conflict of a second attempt."""
    store.then = _exhaust
    created = await server.ask("POST", path, build())
    put = await server.ask("PUT", f"{path}/a", created.json)
    patched = await server.ask("PATCH", f"{path}/a", {"metadata": {"labels": {"a": "b"}}}, Content_Type=MERGE)
    applied = await server.ask("PATCH", f"{path}/b?fieldManager=m", build("b"), Content_Type=APPLY)
    deleted = await server.ask("DELETE", f"{path}/a")

    assert [answer.status for answer in (created, put, patched, applied, deleted)] == [201, 200, 200, 201, 200]
    assert len(store.committed) == 4
    assert server.workers.running == 0


async def test_definitions_do_not_start_again(server: InProcess, store: CommittingBackend) -> None:
    """Answer the creation of a definition, whose listeners act before the answer, with the definition."""
    store.then = _exhaust
    created = await server.ask("POST", CRDS, widget_crd(group="other.example.com"))

    assert (created.status, created.json["metadata"]["name"]) == (201, "widgets.other.example.com")


@pytest.mark.parametrize("size", [10, limits.MAX_INLINE_BYTES + 1], ids=["inline", "in a worker process"])
async def test_an_unknown_outcome(server: InProcess, store: CommittingBackend, size: int) -> None:
    """Pass on the error of a commit whose outcome is unknown, and do not repeat it."""

    def fail() -> None:
        raise UnavailableError("etcdserver: request timed out")

    store.then = fail
    sent = new_widget(image="x" * size)
    created = await server.ask("POST", V2, sent)
    store.then = lambda: None
    found = await server.ask("GET", f"{V2}/a")

    assert (created.status, created.message) == (500, "etcdserver: request timed out")
    assert "Retry-After" not in created.headers
    assert found.json["spec"] == sent["spec"]
    assert len(store.committed) == 1


async def test_a_worker_that_dies_after_the_commit(server: InProcess, store: CommittingBackend) -> None:
    """Say in the answer that the write is stored, and do not repeat it."""

    def kill() -> None:
        for worker in server.workers.working:
            os.kill(worker.pid, signal.SIGKILL)

    store.then = kill
    created = await server.ask("POST", V2, new_widget(image="x" * (limits.MAX_INLINE_BYTES + 1)))
    store.then = lambda: None

    assert created.status == 500
    assert created.message.endswith("the worker process of the request ended unexpectedly; the write is stored")
    assert (await server.ask("GET", f"{V2}/a")).status == 200
    assert len(store.committed) == 1
