"""Handlers of requests."""

from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.request import bound
from apiext.api.endpoints.responsewriters.response import Reply


class _Handler:
    """A handler that is an object."""

    def __init__(self, status: int) -> None:
        self._status = status

    async def __call__(self, _request: web.BaseRequest) -> web.StreamResponse:
        """Return an answer."""
        return Reply(status=self._status)


async def test_binds_handlers() -> None:
    """Call objects by their methods, and leave functions and methods as they are."""

    async def function(_request: web.BaseRequest) -> web.StreamResponse:
        return Reply(status=201)

    one = _Handler(202)
    handlers = [bound(function), bound(one), bound(bound(one))]

    assert [(await handler(make_mocked_request("GET", "/"))).status for handler in handlers] == [201, 202, 202]
    assert handlers == [function, one.__call__, one.__call__]
