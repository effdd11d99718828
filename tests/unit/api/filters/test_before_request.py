"""Steps: filters without coroutines."""

import asyncio
from collections.abc import Awaitable

import pytest
from aiohttp import web

from apiext.api.endpoints.request import WARNINGS, Handler, bound
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.filters.before_request import FilterStep
from apiext.api.filters.headers import WarningRecorder
from tests.unit.api.filters.conftest import Make, hello


class _Recorder(FilterStep):
    """Records the request, and answers it if configured so."""

    def __init__(self, handler: Handler, name: str, *, status: int = 0) -> None:
        super().__init__(handler)
        self._name = name
        self._status = status

    def enter(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Record the request."""
        request[WARNINGS].append(self._name)
        return Reply(b"", status=self._status) if self._status else None


def _wrap(handler: Handler) -> Handler:
    """Return a filter that is not a step."""

    async def passing(request: web.BaseRequest) -> web.StreamResponse:
        request[WARNINGS].append("between")
        return await handler(request)

    return passing


@pytest.mark.parametrize(
    "chain, status, seen",
    [
        (WarningRecorder(_Recorder(_Recorder(_wrap(_Recorder(hello, "c")), "b"), "a")), 200, ["a", "b", "between", "c"]),
        (bound(WarningRecorder(bound(_Recorder(bound(_Recorder(hello, "b")), "a")))), 200, ["a", "b"]),
        (WarningRecorder(_Recorder(_Recorder(_Recorder(hello, "c"), "b", status=403), "a")), 403, ["a", "b"]),
    ],
    ids=["with another filter between", "given by their methods", "with an answer"],
)
async def test_runs_in_order(exchange: Make, chain: Handler, status: int, seen: list[str]) -> None:
    """Run steps from the outermost to the innermost, up to one that has an answer."""
    made = exchange()
    done = await made.through(chain)

    assert (done.status, made.request[WARNINGS]) == (status, seen)


class _Waiter(_Recorder):
    """Waits before it records the request."""

    def enter(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse | None]:  # type: ignore[override]
        """Return what waits."""

        async def wait() -> web.StreamResponse | None:
            await asyncio.sleep(0)
            return _Recorder.enter(self, request)

        return wait()


@pytest.mark.parametrize("status, names", [(0, ["a", "b", "c", "d"]), (403, ["a", "b"])])
async def test_waits_for_a_step(exchange: Make, status: int, names: list[str]) -> None:
    """Run the steps behind one that has to wait, unless it has an answer."""
    made = exchange()
    done = await made.through(WarningRecorder(_Recorder(_Waiter(_Waiter(_Recorder(hello, "d"), "c"), "b", status=status), "a")))

    assert (done.status, made.request[WARNINGS]) == (status or 200, names)
