"""Connections and certificates, with real ones."""

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from apiext.operator.checks import transport
from apiext.operator.checks.verdict import State
from hack.lib.servers.certificates import Authority
from tests.unit.operator.checks.snapshot_builder import GROUP, Way


async def test_nobody_listens(tmp_path: Path) -> None:
    """A port that nothing listens on is the connection's fault."""
    way = Way(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        way.target = replace(way.target, server=f"https://127.0.0.1:{taken.getsockname()[1]}")

        verdict = await transport.connection(way.look(), GROUP)

    assert (verdict.state, "nothing listens on 127.0.0.1" in verdict.what) == (State.BROKEN, True)


@pytest.mark.parametrize(
    "hosts, trusted, what",
    [
        (("svc.ns.svc",), True, "it is of the caBundle and for svc.ns.svc"),
        (("svc.ns.svc",), False, "not of the authorities that the host trusts"),
        (("other.ns.svc", "127.0.0.1"), True, "not for svc.ns.svc, but for other.ns.svc, 127.0.0.1"),
    ],
)
async def test_certificates(tmp_path: Path, hosts: tuple[str, ...], *, trusted: bool, what: str) -> None:
    """The certificate has to be of the caBundle, and to have the Service's name."""
    way = Way(tmp_path)
    pair = (way.authority if trusted else Authority(tmp_path / "other")).issue("serving", hosts=hosts)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)
    async with await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=context) as server:
        way.target = replace(way.target, server=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")

        verdict = await transport.certificate(way.look(), GROUP)

    assert what in verdict.what
