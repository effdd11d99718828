"""The rehearsal of the first requests, and the writes that wait for it."""

import asyncio
import subprocess
import sys
from typing import cast

import pytest
from aiohttp import web

from apiext.server import preparation as preparations
from apiext.server.preparation import RequestPreparation
from apiext.server.rehearsal import rehearse
from tests.support.event_loop import settle

_MODULES = ("apiext.resources.definitions.validation.definition", "apiext.schema.cel.compiler.loops", "re2")
_LOADED = f"""
import sys
from apiext.server.rehearsal import rehearse
rehearse()
print(*(name for name in {_MODULES} if name in sys.modules))
"""


def test_rehearses_without_an_event_loop_again_and_again() -> None:
    """Create the sample definition and its object without an error or a wait."""
    rehearse()
    rehearse()


def test_imports_what_a_definition_needs() -> None:
    """Import validation, the compiler of rules and RE2."""
    printed = subprocess.run([sys.executable, "-c", _LOADED], check=True, capture_output=True, text=True).stdout.split()

    assert printed == [*_MODULES]


class _Request:
    def __init__(self, method: str) -> None:
        self.method = method


class _Workers:
    """Notes what the preparation asks of worker processes."""

    def __init__(self, order: list[str]) -> None:
        self._order = order

    def fork_on_demand(self) -> None:
        """Note that processes may be forked."""
        self._order.append("may fork")

    def keep_ready(self) -> None:
        """Note that a process is forked."""
        self._order.append("forked")


async def _answered(preparation: RequestPreparation, order: list[str], method: str) -> None:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        order.append(request.method)
        return web.StreamResponse()

    await preparation.before_writes(handler)(cast("web.BaseRequest", _Request(method)))


async def test_only_writes_wait_for_the_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer reads at once, and writes when the rehearsal has ended, also by an error."""
    order: list[str] = []
    released = asyncio.Event()

    async def aside(_work: object) -> None:
        if not released.is_set():
            await released.wait()
            order.append("rehearsed")
            raise RuntimeError("a defect")

    monkeypatch.setattr(preparations, "aside", aside)
    preparation = RequestPreparation(_Workers(order), lambda: order.append("plug-ins are imported"))
    await _answered(preparation, order, "PUT")
    running = asyncio.create_task(preparation.run())
    await asyncio.sleep(0)
    writing = asyncio.create_task(_answered(preparation, order, "POST"))
    await asyncio.sleep(0)
    await _answered(preparation, order, "GET")
    released.set()
    await writing
    await running
    await _answered(preparation, order, "DELETE")

    assert order == ["PUT", "GET", "rehearsed", "may fork", "POST", "DELETE"]


async def test_a_failed_import_does_not_end_the_server(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Log what cannot be imported, and go on."""
    monkeypatch.setattr(preparations, "MODULES", ("apiext.nothing",))

    await RequestPreparation(_Workers([]), lambda: None).run()

    assert [record.message for record in caplog.records] == ["preparation for the first requests failed"]


@pytest.mark.parametrize(
    "quiet, busy, method, forked",
    [
        (1e9, 1e9, "GET", ["forked"]),
        (1e9, 1e9, "POST", []),
        (0.0, 1e9, "POST", ["forked"]),
        (1e9, 0.0, "POST", ["forked"]),
    ],
    ids=["no write has come", "a write has just come", "no further write has come", "writes do not end"],
)
async def test_forks_beside_no_write(monkeypatch: pytest.MonkeyPatch, quiet: float, busy: float, method: str, forked: list[str]) -> None:
    """Fork worker processes after the rehearsal, once no write has come for a time, or writes have come for long."""
    monkeypatch.setattr(preparations, "QUIET_SECONDS", quiet)
    monkeypatch.setattr(preparations, "BUSY_SECONDS", busy)
    monkeypatch.setattr(preparations, "aside", _nothing)
    order: list[str] = []
    preparation = RequestPreparation(_Workers(order), lambda: None)
    forking = asyncio.create_task(preparation.keep_processes())
    await _answered(preparation, order, method)
    await settle()
    assert order == [method]

    await preparation.run()
    await settle()

    assert order == [method, "may fork", *forked]
    forking.cancel()


async def _nothing(_work: object) -> None:
    """Work aside without a thread."""
