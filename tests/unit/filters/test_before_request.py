"""Steps: filters without coroutines."""

import asyncio
from collections.abc import Awaitable

import pytest
from aiohttp import web

from apiext.endpoints.request import WARNINGS, Handler, bound
from apiext.endpoints.responsewriters.response import Reply
from apiext.filters.before_request import FilterStep
from apiext.filters.warning import WarningRecorder
from tests.unit.filters.conftest import Make, hello


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


async def test_runs_in_order(exchange: Make) -> None:
    """Run steps from the outermost to the innermost, with other filters between them."""
    made = exchange()
    done = await made.through(WarningRecorder(_Recorder(_Recorder(_wrap(_Recorder(hello, "c")), "b"), "a")))

    assert (done.status, made.request[WARNINGS]) == (200, ["a", "b", "between", "c"])


async def test_merges_bound_steps(exchange: Make) -> None:
    """Merge steps that are given by their methods."""
    made = exchange()
    done = await made.through(bound(WarningRecorder(bound(_Recorder(bound(_Recorder(hello, "b")), "a")))))

    assert (done.status, made.request[WARNINGS]) == (200, ["a", "b"])


async def test_stops_at_an_answer(exchange: Make) -> None:
    """Return the answer of a step, and skip the filters behind it."""
    made = exchange()
    done = await made.through(WarningRecorder(_Recorder(_Recorder(_Recorder(hello, "c"), "b", status=403), "a")))

    assert (done.status, made.request[WARNINGS]) == (403, ["a", "b"])


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
