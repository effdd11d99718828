"""HTTP/2 on the listener: which clients get it, and h2spec's cases."""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from hack.lib.reference.h2spec import h2spec
from hack.lib.servers.apiext_server import ApiextServer
from tests.support.http2_site import open_site

pytestmark = pytest.mark.slow
_PROTOCOLS: Final = ["h2", "http/1.1"]


def _chosen(server: ApiextServer, offered: list[str]) -> str | None:
    """Return the protocol that the server chooses of those that a client offers."""
    address = urlsplit(server.url)
    context = ssl.create_default_context(cafile=str(server.ca))
    context.set_alpn_protocols(offered)
    with (
        socket.create_connection((address.hostname or "", address.port or 0)) as plain,
        context.wrap_socket(plain, server_hostname=address.hostname) as secure,
    ):
        return secure.selected_alpn_protocol()


@pytest.mark.parametrize("offered, chosen", [(_PROTOCOLS, "h2"), (["http/1.1"], "http/1.1"), (["h2"], "h2"), (["spdy/3"], None)])
def test_clients_choose_the_protocol(server: ApiextServer, offered: list[str], chosen: str | None) -> None:
    """Serve HTTP/2 to clients that offer it."""
    assert _chosen(server, offered) == chosen


@pytest.mark.parametrize("flags", [["--disable-http2-serving"], ["--workers=2"]])
def test_is_off_where_it_does_not_help(tmp_path: Path, flags: list[str], request: pytest.FixtureRequest) -> None:
    """Serve HTTP/1.1 only if that is wanted, and with several workers, among which connections are divided."""
    etcd = request.getfixturevalue("etcd") if flags[0].startswith("--workers") else None
    with ApiextServer(tmp_path, extra_args=flags, etcd_url=etcd.url if etcd else None, etcd_prefix="/http2") as server:
        assert _chosen(server, _PROTOCOLS) == "http/1.1"


@pytest.mark.timeout(600)  # the first run builds it
async def test_passes_h2spec() -> None:
    """Do what RFC 9113 and RFC 7541 ask of a server."""
    program = await asyncio.to_thread(h2spec)
    async with open_site() as site:
        host, port = site.listener.getsockname()[:2]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(program, "-h", host, "-p", str(port), stdout=pipe, stderr=pipe)
        out, _ = await process.communicate()
    text = out.decode()
    assert "Failures:" not in text, text.partition("Failures:")[2]
    assert "145 tests, 145 passed, 0 skipped, 0 failed" in text
