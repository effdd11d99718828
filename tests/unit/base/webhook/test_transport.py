"""The connections of clients."""

import asyncio
import socket
from pathlib import Path
from typing import Final

import pytest
from aiohttp import ClientError, web
from aiohttp.test_utils import RawTestServer

from apiext.base.webhook import transport
from apiext.base.webhook.client import WebhookClient, WebhookError
from apiext.base.webhook.clientcmd.kubeconfig import Endpoint, load
from apiext.base.webhook.transport import open_session
from hack.lib.servers.certificates import Authority
from tests.support.builders.kubeconfigs import write_kubeconfig
from tests.support.raw_http import Proxy, server_tls

_TCP_REPAIR: Final = 19
"""The option of Linux for sockets that are saved and restored."""


def _endpoint(folder: Path, server: str, **cluster: object) -> Endpoint:
    return load(write_kubeconfig(folder / "kubeconfig", server, **cluster))


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_tunnels_through_the_proxy(tmp_path: Path, scheme: str) -> None:
    """Reach an HTTPS server with CONNECT, from the client and from the session, and verify the server's certificate by its own name."""
    authority, proxy = Authority(tmp_path / "ca"), Proxy()

    async def serve(_request: web.BaseRequest) -> web.StreamResponse:
        return web.json_response({"a": 1})

    server = RawTestServer(serve)
    await server.start_server(ssl=server_tls(authority.issue("server", hosts=["name"])))
    async with server, proxy.running(server_tls(authority.issue("proxy")) if scheme == "https" else None) as address:
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


async def test_notices_that_the_other_end_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Break a watch whose server vanishes without closing the connection, long before the silence of the watch ends."""
    monkeypatch.setattr(transport, "PROBE_AFTER", 1)
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    client = WebhookClient(_endpoint(tmp_path, server=f"http://127.0.0.1:{listener.getsockname()[1]}"))
    loop = asyncio.get_running_loop()

    async def serve() -> None:
        served, _ = await loop.sock_accept(listener)
        await loop.sock_recv(served, 4096)
        await loop.sock_sendall(served, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n")
        # all is acknowledged before the client reads the line
        await lines_seen.wait()
        _vanish(served)

    with listener:
        lines_seen = asyncio.Event()
        serving = asyncio.create_task(serve())
        async with asyncio.timeout(30), client.lines("/a", longest=300, silence=300) as lines:
            assert await anext(lines) == b"a"
            lines_seen.set()
            await serving
            with pytest.raises(ClientError):
                await anext(lines)
        await client.close()


def _vanish(connected: socket.socket) -> None:
    """Close a socket without a word to the other end, as a machine that loses its power."""
    try:
        connected.setsockopt(socket.IPPROTO_TCP, _TCP_REPAIR, 1)
    except PermissionError:
        connected.close()
        pytest.skip("only the administrator may close a connection silently")
    connected.close()
