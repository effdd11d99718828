"""Checks of real connections and certificates."""

import asyncio
import socket
import ssl
from dataclasses import replace
from pathlib import Path

import pytest

from apiext.operator.checks import transport
from apiext.operator.checks.verdict import CheckState
from hack.lib.servers.certificates import Authority
from tests.support.event_loop import until
from tests.unit.operator.checks.snapshot_builder import GROUP, SnapshotBuilder


async def test_reports_a_closed_port(tmp_path: Path) -> None:
    """Report a port without a listener."""
    builder = SnapshotBuilder(tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        builder.target = replace(builder.target, server=f"https://127.0.0.1:{taken.getsockname()[1]}")

        verdict = await transport.connection(builder.build(), GROUP)

    assert (verdict.state, "nothing listens on 127.0.0.1" in verdict.what) == (CheckState.BROKEN, True)


@pytest.mark.parametrize(
    "hosts, trusted, what",
    [
        (("svc.ns.svc",), True, "it is of the caBundle and for svc.ns.svc"),
        (("svc.ns.svc",), False, "not of the authorities that the host trusts"),
        (("other.ns.svc", "127.0.0.1"), True, "not for svc.ns.svc, but for other.ns.svc, 127.0.0.1"),
    ],
)
async def test_verifies_the_certificate(tmp_path: Path, hosts: tuple[str, ...], *, trusted: bool, what: str) -> None:
    """Require an authority of the caBundle, and the Service's name."""
    builder = SnapshotBuilder(tmp_path)
    pair = (builder.authority if trusted else Authority(tmp_path / "other")).issue("serving", hosts=hosts)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)
    async with await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0, ssl=context) as server:
        builder.target = replace(builder.target, server=f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")

        verdict = await transport.certificate(builder.build(), GROUP)
        await until(lambda: len(asyncio.all_tasks()) == 1)

    assert what in verdict.what
