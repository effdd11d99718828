"""Connections through proxies."""

import ssl
from pathlib import Path
from typing import Final

import pytest
from yarl import URL

from apiext.base.webhook.http1.destination import Destination
from apiext.base.webhook.http1.failures import DialError, ProxyError
from apiext.base.webhook.http1.pool import ConnectionPool
from hack.lib.servers.certificates import Authority
from tests.support.raw_http import Proxy, RawServer, server_tls

_REQUEST: Final = b"POST / HTTP/1.1\r\n\r\n"
_ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext"


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_tunnels(pool: ConnectionPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """Reach a server with TLS through a tunnel, verify its own name, and keep the tunnel for further requests."""
    authority, proxy, server = Authority(tmp_path / "ca"), Proxy(), RawServer([_ANSWER] * 2)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.cert))
    context = ssl.create_default_context(cafile=authority.cert)
    async with (
        server.running(server_tls(authority.issue("server", hosts=["name"]))) as port,
        proxy.running(server_tls(authority.issue("proxy")) if scheme == "https" else None) as address,
    ):
        destination = Destination("127.0.0.1", port, context, "name", URL(f"{scheme}://user:word@{address}"))
        for _ in range(2):
            assert (await pool.exchange(destination, _REQUEST, pool.deadline(30))).body == b"text"
        await pool.close()

    assert proxy.requests == [(f"CONNECT 127.0.0.1:{port}", "Basic dXNlcjp3b3Jk")]


async def test_plain_requests(pool: ConnectionPool) -> None:
    """Send a request for a server without TLS to the proxy."""
    proxy = Proxy()
    async with proxy.running() as address:
        destination = Destination("no.such.host", 80, None, "", URL(f"http://{address}"))
        answer = await pool.exchange(destination, b"GET http://no.such.host/a HTTP/1.1\r\nHost: no.such.host\r\n\r\n", pool.deadline(30))

    assert answer.body == b'{"a": 1}'
    assert proxy.requests == [("GET http://no.such.host/a", "")]


@pytest.mark.parametrize(
    "answer, problem",
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "Proxy Authentication Required"),
        (b"HTTP/1.1 500\r\n\r\n", "unknown status code"),
        (b"hello\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 2", "unexpected EOF"),
        (b"", "EOF"),
        (b"x" * 100_000, "the answer of the proxy is too large"),
    ],
)
async def test_refusals(pool: ConnectionPool, server: RawServer, answer: bytes, problem: str) -> None:
    """Report why a proxy opens no tunnel."""
    server.answers = [answer]
    destination = Destination("host", 443, ssl.create_default_context(), "", URL(f"http://127.0.0.1:{server.port}"))
    with pytest.raises(ProxyError) as error:
        await pool.exchange(destination, _REQUEST, pool.deadline(30))

    assert str(error.value) == problem
    assert server.requests == [b"CONNECT host:443 HTTP/1.1\r\nHost: host:443\r\n\r\n"]


async def test_unreachable_proxies(pool: ConnectionPool) -> None:
    """Tell a proxy that cannot be reached from such a server."""
    destination = Destination("::1", 443, ssl.create_default_context(), "", URL("http://127.0.0.1:1"))
    with pytest.raises(DialError) as error:
        await pool.exchange(destination, _REQUEST, pool.deadline(30))

    assert error.value.is_proxy


async def test_other_proxies(pool: ConnectionPool) -> None:
    """Refuse a proxy that does not speak HTTP."""
    with pytest.raises(ProxyError, match="unsupported proxy scheme: socks5"):
        await pool.exchange(Destination("host", 443, None, "", URL("socks5://127.0.0.1:1")), _REQUEST, pool.deadline(30))


async def test_untrusted_servers(pool: ConnectionPool, tmp_path: Path) -> None:
    """Verify the certificate of the server behind a tunnel."""
    proxy, server = Proxy(), RawServer([])
    async with server.running(server_tls(Authority(tmp_path / "ca").issue("server"))) as port, proxy.running() as address:
        destination = Destination("127.0.0.1", port, ssl.create_default_context(), "", URL(f"http://{address}"))
        with pytest.raises(DialError) as error:
            await pool.exchange(destination, _REQUEST, pool.deadline(30))

    assert isinstance(error.value.cause, ssl.SSLCertVerificationError)
