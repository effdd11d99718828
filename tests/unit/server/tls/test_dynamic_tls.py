"""Handshakes on a real listener while certificates and authorities change."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from apiext.api.authentication.client_certificate import CertificateAuthorities, PeerIdentification
from apiext.api.endpoints.request import PEER
from apiext.server.http.acceptor import Acceptor
from apiext.server.http.server import HTTPServer, listen
from apiext.server.tls.context import CertKey, TLSError
from apiext.server.tls.dynamic_tls import DynamicTLS
from apiext.server.tls.server_pki import KeyPair
from hack.lib.servers import certificates
from hack.lib.servers.certificates import Authority


def keys(pair: certificates.KeyPair) -> CertKey:
    """Return the content of a pair of files."""
    return CertKey.read(KeyPair(pair.cert, pair.key))


def clients_of(*authorities: Authority, proxies: Authority | None = None) -> PeerIdentification:
    """Return an identification that trusts client certificates of the authorities."""
    pem = b"".join(authority.cert.read_bytes() for authority in authorities)
    return PeerIdentification(
        clients=CertificateAuthorities(pem), proxies=CertificateAuthorities(proxies.cert.read_bytes()) if proxies else None
    )


async def whoami(request: web.BaseRequest) -> web.StreamResponse:
    """Return the authenticated user."""
    peer = request.get(PEER)
    text = "nobody" if peer is None else f"{peer.user.name if peer.user else ''} {peer.is_front_proxy}"
    assert request.transport is not None
    return web.Response(text=text, headers={"Port": str(request.transport.get_extra_info("peername")[1])})


class Served:
    """A listener that returns the authenticated user; it starts with authority `a`."""

    def __init__(self, folder: Path) -> None:
        self.a, self.b = Authority(folder / "a", "a"), Authority(folder / "b", "b")
        self.shown = keys(self.a.issue("server"))
        self.dynamic_tls = DynamicTLS([self.shown], clients_of(self.a), min_version="VersionTLS12")
        self.http = HTTPServer(whoami, self.dynamic_tls)
        self.port = 0

    def session(self, client: certificates.KeyPair | None = None, *, trusts: Authority | None = None) -> aiohttp.ClientSession:
        """Return a client with one connection."""
        context = ssl.create_default_context(cafile=(trusts or self.a).cert)
        if client is not None:
            context.load_cert_chain(client.cert, client.key)
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=1))

    async def ask(self, session: aiohttp.ClientSession) -> tuple[str, int]:
        """Return the authenticated user, and the local port of the connection."""
        async with session.get(f"https://127.0.0.1:{self.port}/") as response:
            return await response.text(), int(response.headers["Port"])


@pytest_asyncio.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """Yield a running listener."""
    served = Served(tmp_path)
    listener = listen("127.0.0.1", 0)
    acceptor = Acceptor(listener, served.http, served.dynamic_tls.context)
    served.port = listener.getsockname()[1]
    yield served
    acceptor.close()
    await served.http.shutdown(1)


async def test_replaces_the_certificate(served: Served) -> None:
    """Present a replaced certificate to new connections, and keep open ones."""
    async with served.session() as old, served.session(trusts=served.b) as new:
        before = await served.ask(old)
        served.dynamic_tls.set_certificate(keys(served.b.issue("server")))

        assert await served.ask(old) == before
        assert (await served.ask(new))[0] == "nobody"


async def test_rejects_a_mismatched_key(served: Served) -> None:
    """Reject a certificate with another's key by name, and keep the previous one."""
    one, other = keys(served.a.issue("one")), keys(served.a.issue("other"))

    with pytest.raises(TLSError, match=r"one\.crt and .*one\.key are not a certificate and its key"):
        served.dynamic_tls.set_certificate(CertKey(one.cert, other.key, one.origin))
    async with served.session() as client:
        assert (await served.ask(client))[0] == "nobody"


async def test_adds_authorities(served: Served) -> None:
    """Accept clients of an added authority, and keep open connections."""
    async with served.session(served.a.issue("ann")) as ann, served.session(served.b.issue("bob")) as bob:
        before = await served.ask(ann)
        with pytest.raises((aiohttp.ClientError, OSError)):
            await served.ask(bob)

        await _trust(served, clients_of(served.a, served.b))

        assert (before[0], await served.ask(ann)) == ("ann False", before)
        assert (await served.ask(bob))[0] == "bob False"


async def test_removes_authorities(served: Served) -> None:
    """End connections with certificates of a removed authority."""
    async with served.session(served.a.issue("ann")) as ann:
        assert (await served.ask(ann))[0] == "ann False"

        await _trust(served, clients_of(served.b))

        with pytest.raises((aiohttp.ClientError, OSError)):
            await served.ask(ann)


async def test_adds_front_proxies(served: Served) -> None:
    """Recognize front proxies on new connections once their authority is added."""
    served.dynamic_tls.set_client_trust(clients_of(served.a, proxies=served.b))

    async with served.session(served.a.issue("ann")) as ann, served.session(served.b.issue("front")) as front:
        assert [(await served.ask(session))[0] for session in (ann, front)] == ["ann False", " True"]


async def test_requests_no_certificate_without_authorities(served: Served) -> None:
    """Request no client certificate without authorities, and accept clients that have one."""
    served.dynamic_tls.set_client_trust(PeerIdentification(clients=CertificateAuthorities(b"")))

    async with served.session(served.a.issue("ann")) as ann:
        assert (await served.ask(ann))[0] == "nobody"


async def test_rejects_invalid_authorities(served: Served) -> None:
    """Reject PEM without certificates, and keep the previous authorities."""
    with pytest.raises(TLSError, match="invalid client CA: no certificate found"):
        served.dynamic_tls.set_client_trust(PeerIdentification(clients=CertificateAuthorities(b"x")))

    async with served.session(served.a.issue("ann")) as ann:
        assert (await served.ask(ann))[0] == "ann False"


async def _trust(served: Served, trust: PeerIdentification) -> None:
    """Change the authorities, and return once the open connections are checked again."""
    before = asyncio.all_tasks()
    served.dynamic_tls.set_client_trust(trust)
    await asyncio.gather(*(asyncio.all_tasks() - before))
