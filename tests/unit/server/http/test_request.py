"""The attributes of requests."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.request import INFO, WARNINGS
from apiext.server.http.connection import Request


def _request(method: str, path: str) -> Request:
    made = make_mocked_request(method, path, headers={"Accept": "text/plain"})
    task = asyncio.current_task()
    assert task is not None
    message = made._message  # noqa: SLF001 -- aiohttp's, with which a server makes its requests
    return Request(message, made.content, made.protocol, made.writer, task, asyncio.get_running_loop())


@pytest.mark.parametrize("path", ["/apis/a.example?watch=1", "/%61pis//b", "http://elsewhere.example/apis?x=%2F", "*"])
async def test_has_the_attributes_of_aiohttp(path: str) -> None:
    """Have the values that aiohttp computes when they are first used."""
    request = _request("POST", path)

    for name in (name for name in Request.__slots__ if not name.startswith("_")):
        assert getattr(request, name) == getattr(web.BaseRequest, name).__get__(request, Request), name


async def test_holds_values() -> None:
    """Return the values that are attached."""
    request = _request("GET", "/")
    request[WARNINGS] = ["one"]

    assert request[WARNINGS] == ["one"]
    assert (WARNINGS in request, INFO in request) == (True, False)
