"""How connections begin while certificates and authorities change: real handshakes on an event loop's listener."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from apiext.authentication.client_certificate import Authorities, PeerIdentification
from apiext.endpoints.request import PEER
from apiext.server.http.server import HTTPServer
from apiext.server.tls.context import Keys, TLSError
from apiext.server.tls.dynamic_tls import Entrance
from apiext.server.tls.server_pki import KeyPair
from hack.lib.servers import certificates
from hack.lib.servers.certificates import Authority


def keys(pair: certificates.KeyPair) -> Keys:
    """What a pair of files holds."""
    return Keys.read(KeyPair(pair.cert, pair.key))


def clients_of(*authorities: Authority, proxies: Authority | None = None) -> PeerIdentification:
    """Clients are whom these have issued certificates."""
    pem = b"".join(authority.cert.read_bytes() for authority in authorities)
    return PeerIdentification(clients=Authorities(pem), proxies=Authorities(proxies.cert.read_bytes()) if proxies else None)


async def whoami(request: web.BaseRequest) -> web.StreamResponse:
    """Tell the client who it is."""
    peer = request.get(PEER)
    text = "nobody" if peer is None else f"{peer.user.name if peer.user else ''} {peer.is_front_proxy}"
    assert request.transport is not None
    return web.Response(text=text, headers={"Port": str(request.transport.get_extra_info("peername")[1])})


class Served:
    """A listener that tells clients who they are, first with certificates of authorities named a and b."""

    def __init__(self, folder: Path) -> None:
        self.a, self.b = Authority(folder / "a", "a"), Authority(folder / "b", "b")
        self.shown = keys(self.a.issue("server"))
        self.entrance = Entrance([self.shown], clients_of(self.a), min_version="VersionTLS12")
        self.http = HTTPServer(whoami, self.entrance)
        self.port = 0

    def session(self, client: certificates.KeyPair | None = None, *, trusts: Authority | None = None) -> aiohttp.ClientSession:
        """A client that keeps its one connection."""
        context = ssl.create_default_context(cafile=(trusts or self.a).cert)
        if client is not None:
            context.load_cert_chain(client.cert, client.key)
        return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context, limit=1))

    async def ask(self, session: aiohttp.ClientSession) -> tuple[str, int]:
        """Who the session is, and the local port of its connection."""
        async with session.get(f"https://127.0.0.1:{self.port}/") as response:
            return await response.text(), int(response.headers["Port"])


@pytest_asyncio.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    """A running listener."""
    served = Served(tmp_path)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(served.http, "127.0.0.1", 0, ssl=served.entrance.context)
    served.port = server.sockets[0].getsockname()[1]
    yield served
    server.close()
    await served.http.shutdown(1)


async def test_new_certificate_for_new_connections(served: Served) -> None:
    """What is shown changes for connections that begin later; open ones go on."""
    async with served.session() as old, served.session(trusts=served.b) as new:
        before = await served.ask(old)
        served.entrance.show(keys(served.b.issue("server")))

        assert await served.ask(old) == before
        assert (await served.ask(new))[0] == "nobody"


async def test_what_cannot_be_shown(served: Served) -> None:
    """A certificate with another's key changes nothing, and is named."""
    one, other = keys(served.a.issue("one")), keys(served.a.issue("other"))

    with pytest.raises(TLSError, match=r"one\.crt and .*one\.key are no certificate and its key"):
        served.entrance.show(Keys(one.cert, other.key, one.origin))
    async with served.session() as client:
        assert (await served.ask(client))[0] == "nobody"


async def test_more_authorities_keep_connections(served: Served) -> None:
    """With one more authority its clients are known, and open connections stay what they are."""
    async with served.session(served.a.issue("ann")) as ann, served.session(served.b.issue("bob")) as bob:
        before = await served.ask(ann)
        with pytest.raises((aiohttp.ClientError, OSError)):
            await served.ask(bob)

        served.entrance.believe(clients_of(served.a, served.b))
        await _judged(served)

        assert (before[0], await served.ask(ann)) == ("ann False", before)
        assert (await served.ask(bob))[0] == "bob False"


async def test_authority_taken_away(served: Served) -> None:
    """Connections by an authority that is believed no more end; their clients are strangers then."""
    async with served.session(served.a.issue("ann")) as ann:
        assert (await served.ask(ann))[0] == "ann False"

        served.entrance.believe(clients_of(served.b))
        await _judged(served)

        with pytest.raises((aiohttp.ClientError, OSError)):
            await served.ask(ann)


async def test_front_proxies_from_now_on(served: Served) -> None:
    """When an authority becomes that of front proxies, new connections are front proxies', and clients stay clients."""
    served.entrance.believe(clients_of(served.a, proxies=served.b))

    async with served.session(served.a.issue("ann")) as ann, served.session(served.b.issue("front")) as front:
        assert [(await served.ask(session))[0] for session in (ann, front)] == ["ann False", " True"]


async def test_without_authorities(served: Served) -> None:
    """Where no authority is believed nobody is asked for a certificate, and whoever has one is not turned away."""
    served.entrance.believe(PeerIdentification(clients=Authorities(b"")))

    async with served.session(served.a.issue("ann")) as ann:
        assert (await served.ask(ann))[0] == "nobody"


async def test_authorities_that_are_none(served: Served) -> None:
    """A text without certificates is refused, and the old ones stay."""
    with pytest.raises(TLSError, match="the authorities of client certificates cannot be used: no certificate found"):
        served.entrance.believe(PeerIdentification(clients=Authorities(b"x")))

    async with served.session(served.a.issue("ann")) as ann:
        assert (await served.ask(ann))[0] == "ann False"


async def _judged(served: Served) -> None:
    """Return when open connections have been judged anew."""
    await asyncio.gather(*served.http._judging)
