"""The connections of clients."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from apiext.webhook.client import WebhookClient, WebhookError
from apiext.webhook.clientcmd.kubeconfig import Endpoint, load
from apiext.webhook.transport import open_session
from hack.lib.servers.certificates import Authority, KeyPair
from tests.support.builders.kubeconfigs import write_kubeconfig


class Proxy:
    """An HTTP proxy that tunnels CONNECT, answers other requests itself, and records both with their Proxy-Authorization."""

    def __init__(self, *, accepts: bool = True) -> None:
        self._accepts = accepts
        self.requests: list[tuple[str, str]] = []

    @asynccontextmanager
    async def running(self, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
        """Yield the address."""
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
        async with server:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, *fields = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = dict(field.split(": ", 1) for field in fields if field)
        method, target, _ = line.split()
        self.requests.append((f"{method} {target}", headers.get("Proxy-Authorization", "")))
        if method == "CONNECT" and self._accepts:
            host, port = target.split(":")
            remote, remote_writer = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await asyncio.gather(_copy(reader, remote_writer), _copy(remote, writer))
        elif self._accepts:
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\nConnection: close\r\n\r\n{"a": 1}')
        else:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


def _endpoint(folder: Path, server: str, **cluster: object) -> Endpoint:
    return load(write_kubeconfig(folder / "kubeconfig", server, **cluster))


def _tls(pair: KeyPair) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)
    return context


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_tunnels_through_the_proxy(tmp_path: Path, scheme: str) -> None:
    """Reach an HTTPS server with CONNECT, from the client and from the session, and verify the server's certificate by its own name."""
    authority, proxy = Authority(tmp_path / "ca"), Proxy()

    async def serve(_request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"a": 1})

    server = RawTestServer(serve)
    await server.start_server(ssl=_tls(authority.issue("server", hosts=["name"])))
    async with server, proxy.running(_tls(authority.issue("proxy")) if scheme == "https" else None) as address:
        url = str(server.make_url(""))
        cluster = {"server": url, "certificate-authority": str(authority.cert), "tls-server-name": "name"}
        endpoint = _endpoint(tmp_path, **cluster, **{"proxy-url": f"{scheme}://user:word@{address}"})
        client = WebhookClient(endpoint)
        assert await client.get("/a") == {"a": 1}
        await client.close()
        async with open_session(endpoint) as session, session.get(f"{url}/a") as response:
            assert await response.json() == {"a": 1}

    assert proxy.requests == [(f"CONNECT {url.removeprefix('https://').rstrip('/')}", "Basic dXNlcjp3b3Jk")] * 2


async def test_sends_plain_requests_to_the_proxy(tmp_path: Path) -> None:
    """Send requests for a plain HTTP server to the proxy, with the full URL."""
    proxy = Proxy()
    async with proxy.running() as address:
        client = WebhookClient(_endpoint(tmp_path, server="http://no.such.host", **{"proxy-url": f"http://{address}"}))
        assert await client.get("/a") == {"a": 1}
        await client.close()

    assert proxy.requests == [("GET http://no.such.host/a", "")]


async def test_prefers_the_proxy_of_the_kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the environment's proxy for a kubeconfig without proxy-url, as client-go."""
    own, common = Proxy(), Proxy()
    async with own.running() as first, common.running() as second:
        monkeypatch.setenv("HTTP_PROXY", second)
        for name, cluster in (("a", {"proxy-url": f"http://{first}"}), ("b", {})):
            client = WebhookClient(_endpoint(tmp_path, server=f"http://{name}.no.such.host", **cluster))
            assert await client.get("/") == {"a": 1}
            await client.close()

    assert own.requests == [("GET http://a.no.such.host/", "")]
    assert common.requests == [("GET http://b.no.such.host/", "")]


async def test_reports_a_refusing_proxy(tmp_path: Path) -> None:
    """Raise the proxy's status code where it opens no tunnel."""
    async with Proxy(accepts=False).running() as address:
        client = WebhookClient(_endpoint(tmp_path, server="https://no.such.host", **{"proxy-url": f"http://{address}"}))
        with pytest.raises(WebhookError, match=r'^Get "https://no\.such\.host/a": 407'):
            await client.get("/a")
        await client.close()
