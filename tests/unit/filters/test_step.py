"""Steps: filters that share a frame, and still run in their order."""

from aiohttp import web

from apiext.endpoints.request import WARNINGS, Handler
from apiext.endpoints.responsewriters.response import Reply
from apiext.filters.step import Step
from apiext.filters.warning import WarningRecorder
from tests.unit.filters.conftest import Make, hello


class _Note(Step):
    """Notes that it was there, and answers where it is told to."""

    def __init__(self, handler: Handler, name: str, *, status: int = 0) -> None:
        super().__init__(handler)
        self._name = name
        self._status = status

    def enter(self, request: web.BaseRequest) -> web.StreamResponse | None:
        """Note it."""
        request[WARNINGS].append(self._name)
        return Reply(b"", status=self._status) if self._status else None


def _between(handler: Handler) -> Handler:
    """A filter that is no step."""

    async def passing(request: web.BaseRequest) -> web.StreamResponse:
        request[WARNINGS].append("between")
        return await handler(request)

    return passing


async def test_order(exchange: Make) -> None:
    """Steps run from the outermost to the innermost, with other filters between them."""
    made = exchange()
    done = await made.through(WarningRecorder(_Note(_Note(_between(_Note(hello, "c")), "b"), "a")))

    assert (done.status, made.request[WARNINGS]) == (200, ["a", "b", "between", "c"])


async def test_a_step_answers(exchange: Make) -> None:
    """What a step answers goes out, and nothing behind it sees the request."""
    made = exchange()
    done = await made.through(WarningRecorder(_Note(_Note(_Note(hello, "c"), "b", status=403), "a")))

    assert (done.status, made.request[WARNINGS]) == (403, ["a", "b"])
