"""The HTTP client."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint


class Remote:
    """A server with a list of answers; it repeats the last one."""

    def __init__(self, *answers: Callable[[], web.Response]) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[str, str, object]] = []

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Record the call and answer it."""
        self.calls.append((request.path, request.headers.get("Authorization", ""), orjson.loads(await request.read() or b"null")))
        return (self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])()

    @asynccontextmanager
    async def client(self) -> AsyncIterator[WebhookClient]:
        """Yield a client of the server."""
        async with RawTestServer(self) as server:
            url = str(server.make_url("/prefix"))
            client = WebhookClient(Endpoint(url=url, context=None, authorization="Bearer t"), backoff=(0.0, 0.0))
            yield client
            await client.close()


def _json(body: object, status: int = 200, **headers: str) -> Callable[[], web.Response]:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return lambda: web.Response(body=orjson.dumps(body), status=status, headers=named)


async def test_posts_json() -> None:
    """Send JSON with the credentials, and return the JSON of the answer."""
    remote = Remote(_json({"a": 1}, 201))
    async with remote.client() as client:
        assert await client.post("/path", {"b": 2}) == {"a": 1}

    assert remote.calls == [("/prefix/path", "Bearer t", {"b": 2})]


@pytest.mark.parametrize("broken", [_json({}, 500), _json({}, 504), _json({}, 429), _json({}, 503, Retry_After="1")])
async def test_retries(broken: Callable[[], web.Response]) -> None:
    """Retry after 429, 500, 504, and after any answer with Retry-After."""
    remote = Remote(broken, broken, _json({"a": 1}))
    async with remote.client() as client:
        assert await client.post("/path", {}) == {"a": 1}

    assert len(remote.calls) == 3


@pytest.mark.parametrize(
    "answer,calls,message",
    [
        (_json({"message": "not you"}, 403), 1, "not you"),
        (_json({"message": "broken"}, 500), 3, "broken"),
        (_json([], 200), 1, "invalid answer with code 200"),
        (lambda: web.Response(text="<html>", status=404), 1, "invalid answer with code 404"),
    ],
)
async def test_reports_failures(answer: Callable[[], web.Response], calls: int, message: str) -> None:
    """Raise the message of the server's Status, or the code without one."""
    remote = Remote(answer)
    async with remote.client() as client:
        with pytest.raises(WebhookError) as failed:
            await client.post("/path", {})

    assert str(failed.value).endswith(message)
    assert len(remote.calls) == calls


async def test_reports_an_unreachable_server() -> None:
    """Raise the reference's text for a refused connection."""
    client = WebhookClient(Endpoint(url="http://127.0.0.1:1", context=None))
    with pytest.raises(WebhookError) as caught:
        await client.get("/path")
    await client.close()

    assert str(caught.value) == 'Get "http://127.0.0.1:1/path": dial tcp 127.0.0.1:1: connect: connection refused'


async def test_gets_json() -> None:
    """Return the JSON at a path; an error has the status code."""
    remote = Remote(_json({"a": 1}), _json({"message": "no"}, 403))
    async with remote.client() as client:
        assert await client.get("/path?q=1") == {"a": 1}
        with pytest.raises(WebhookError, match="no") as failed:
            await client.get("/path")

    assert failed.value.code == 403


async def test_ask_returns_any_answer() -> None:
    """Return code and content of one attempt; the caller's headers replace the credentials."""
    remote = Remote(lambda: web.Response(text="no", status=503))
    async with remote.client() as client:
        answer = await client.ask("/path", method="PATCH", body=[1], headers={"Authorization": "other"})

    assert (answer, remote.calls) == ((503, b"no"), [("/prefix/path", "other", [1])])


async def test_ask_sends_bytes() -> None:
    """Send a body of bytes unchanged."""
    remote = Remote(_json({}))
    async with remote.client() as client:
        await client.ask("/path", method="POST", body=b' {"a": 1}\n')

    assert remote.calls == [("/prefix/path", "Bearer t", {"a": 1})]


async def test_yields_lines() -> None:
    """Yield whole lines, however they are chunked; raise an error status before the first line."""
    remote = Remote(lambda: web.Response(body=b"one\n" + b"x" * 300_000 + b"\nrest"), _json({"message": "no"}, 403))
    async with remote.client() as client:
        async with client.lines("/path", longest=10, silence=10) as lines:
            assert [len(line) async for line in lines] == [3, 300_000]
        with pytest.raises(WebhookError, match="no"):
            async with client.lines("/path", longest=10, silence=10):
                raise AssertionError


async def test_ends_a_silent_answer() -> None:
    """Raise an error when no byte arrives for too long."""

    async def begin(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"one\ntw")
        await asyncio.Event().wait()
        return response

    async with RawTestServer(begin, handler_cancellation=True) as server:
        client = WebhookClient(Endpoint(url=str(server.make_url("/path")), context=None))
        found = []

        async def read() -> None:
            async with client.lines("", longest=60, silence=0.1) as lines:
                async for line in lines:
                    found.append(line)  # noqa: PERF401 -- what came before it failed counts

        with pytest.raises(WebhookError, match="deadline"):
            await read()
        await client.close()

    assert found == [b"one"]
