"""Calls of the host and of apiext."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.operator.api_clients import Api, ApiError
from apiext.webhook.client_session import open_session
from apiext.webhook.kubeconfig import Endpoint


class Server:
    """Answers by method and path; notes what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, str, str, Any]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer."""
        body = orjson.loads(await request.read() or b"null")
        content, who = request.headers.get("Content-Type", ""), request.headers.get("Authorization", "")
        self.asked.append((request.method, content, who, body))
        code, answer = self.answers.get(f"{request.method} {request.path_qs}", (404, {"message": "not found", "reason": "NotFound"}))
        return web.Response(status=code, body=answer if isinstance(answer, bytes) else orjson.dumps(answer))


@pytest.fixture
async def served() -> AsyncIterator[tuple[Server, Api]]:
    """A server and a client of it."""
    server = Server()
    async with RawTestServer(server) as running:
        api = Api(Endpoint(url=str(running.make_url("")).rstrip("/"), context=None, authorization="Bearer t"))
        yield server, api
        await api.close()


async def test_verbs(served: tuple[Server, Api]) -> None:
    """Each sends what it says; a patch is a merge patch."""
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


async def test_lists(served: tuple[Server, Api]) -> None:
    """All pages are read, and the revision is that of the last."""
    server, api = served
    server.answers = {
        "GET /a?limit=500": (200, {"items": [{"n": 1}], "metadata": {"continue": "x", "resourceVersion": "7"}}),
        "GET /a?limit=500&continue=x": (200, {"items": [{"n": 2}], "metadata": {"resourceVersion": "7"}}),
        "GET /b?limit=500": (200, {"items": None, "metadata": {}}),
    }

    assert await api.listing("/a") == ([{"n": 1}, {"n": 2}], 7)
    assert await api.items("/b") == []


async def test_refusals(served: tuple[Server, Api]) -> None:
    """They carry code, reason and message; only an object that is not there can be looked for in vain."""
    server, api = served
    server.answers = {
        "GET /gone": (404, b"page not found"),
        "GET /bad": (200, b"<html>"),
        "GET /no": (403, {"message": "m", "reason": "Forbidden"}),
    }

    assert await api.find("/a") is None
    with pytest.raises(ApiError, match=r'GET "http.*/no": m') as refused:
        await api.find("/no")
    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")
    with pytest.raises(ApiError, match="it answers with code 200, and nothing that can be used: '<html>'"):
        await api.get("/bad")


async def test_another_endpoint(served: tuple[Server, Api]) -> None:
    """A client may go elsewhere; who does not answer is told with code 0."""
    _, api = served
    await api.use(Endpoint(url="http://127.0.0.1:1", context=None))

    assert api.url == "http://127.0.0.1:1"
    with pytest.raises(ApiError) as failed:
        await api.get("/a")
    assert failed.value.code == 0


async def test_a_session_for_libraries(served: tuple[Server, Api], tmp_path: Any) -> None:
    """Its requests show the credentials of their moment."""
    server, api = served
    token = tmp_path / "token"
    async with open_session(Endpoint(url=api.url, context=None, token_file=token)) as session:
        for text in ("one", "two"):
            token.write_text(text)
            await session.get(f"{api.url}/a")

    assert [who for _, _, who, _ in server.asked] == ["Bearer one", "Bearer two"]
