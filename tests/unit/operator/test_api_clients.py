"""Clients of the host and of apiext."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
from apiext.base.webhook.transport import open_session
from apiext.operator.api_clients import ApiClient, ApiError


class Server:
    """A server that answers by method and path, and keeps the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, str, str, Any]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer a request."""
        body = orjson.loads(await request.read() or b"null")
        content, who = request.headers.get("Content-Type", ""), request.headers.get("Authorization", "")
        self.asked.append((request.method, content, who, body))
        code, answer = self.answers.get(f"{request.method} {request.path_qs}", (404, {"message": "not found", "reason": "NotFound"}))
        return web.Response(status=code, body=answer if isinstance(answer, bytes) else orjson.dumps(answer))


@pytest.fixture
async def served() -> AsyncIterator[tuple[Server, ApiClient]]:
    """Provide a server and a client of it."""
    server = Server()
    async with RawTestServer(server) as running:
        api = ApiClient(Endpoint(url=str(running.make_url("")).rstrip("/"), context=None, authorization="Bearer t"))
        yield server, api
        await api.close()


async def test_sends_each_verb(served: tuple[Server, ApiClient]) -> None:
    """Send the method and body of each verb; a patch is a merge patch."""
    server, api = served
    server.answers = {f"{method} /a": (200, {"kind": method}) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")}

    assert await api.get("/a") == await api.find("/a") == {"kind": "GET"}
    assert await api.post("/a", {"b": 1}) == {"kind": "POST"}
    assert await api.put("/a", {"b": 2}) == {"kind": "PUT"}
    assert await api.patch("/a", {"b": 3}) == {"kind": "PATCH"}
    assert await api.delete("/a", {"b": 4}) == {"kind": "DELETE"}
    assert server.asked[2:] == [
        ("POST", "application/json", "Bearer t", {"b": 1}),
        ("PUT", "application/json", "Bearer t", {"b": 2}),
        ("PATCH", "application/merge-patch+json", "Bearer t", {"b": 3}),
        ("DELETE", "application/json", "Bearer t", {"b": 4}),
    ]


async def test_lists_all_pages(served: tuple[Server, ApiClient]) -> None:
    """Return the items of all pages."""
    server, api = served
    server.answers = {
        "GET /a?limit=500": (200, {"items": [{"n": 1}], "metadata": {"continue": "x", "resourceVersion": "7"}}),
        "GET /a?limit=500&continue=x": (200, {"items": [{"n": 2}], "metadata": {"resourceVersion": "7"}}),
        "GET /b?limit=500": (200, {"items": None, "metadata": {}}),
    }

    assert await api.items("/a") == [{"n": 1}, {"n": 2}]
    assert await api.items("/b") == []


async def test_raises_the_status(served: tuple[Server, ApiClient]) -> None:
    """Raise code, reason and message of a Status; `find` returns None for 404."""
    server, api = served
    server.answers = {
        "GET /gone": (404, b"page not found"),
        "GET /bad": (200, b"<html>"),
        "GET /no": (403, {"message": "m"}),
    }

    assert await api.find("/a") is None
    with pytest.raises(ApiError, match=r'GET "http.*/no": m') as refused:
        await api.find("/no")
    assert refused.value.code == 403
    with pytest.raises(ApiError, match="unusable response with code 200: '<html>'"):
        await api.get("/bad")


async def test_changes_the_endpoint(served: tuple[Server, ApiClient]) -> None:
    """Send requests to another endpoint, and raise code 0 without a response."""
    _, api = served
    await api.set_endpoint(Endpoint(url="http://127.0.0.1:1", context=None))

    assert api.url == "http://127.0.0.1:1"
    with pytest.raises(ApiError) as failed:
        await api.get("/a")
    assert failed.value.code == 0


async def test_shows_credentials_in_sessions(served: tuple[Server, ApiClient], tmp_path: Any) -> None:
    """Send the present credentials with each request of a library's session."""
    server, api = served
    token = tmp_path / "token"
    async with open_session(Endpoint(url=api.url, context=None, token_file=token)) as session:
        for text in ("one", "two"):
            token.write_text(text)
            await session.get(f"{api.url}/a")

    assert [who for _, _, who, _ in server.asked] == ["Bearer one", "Bearer two"]
