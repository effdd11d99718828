"""The server of a replay or of suites: `apiext serve` on loopback, with its store in a temporary folder."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from apiext.base.webhook.clientcmd import kubeconfig
from apiext.tools.replay.child_server import READY, START_SECONDS, STOP_SECONDS, kubeconfig_path, last_line, log_path, serve_command
from apiext.tools.replay.outcome import ReplayError
from apiext.tools.replay.server_client import ServerClient

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

STORE_FILE: Final = "apiext.db"
"""The store in the folder of a server's data."""
_FLAGS: Final = ("--enable-priority-and-fairness=false", "--event-ttl=0")


@asynccontextmanager
async def running_server(folder: Path, service_addresses: Sequence[str] = ()) -> AsyncGenerator[ServerClient]:
    """Start a server with its data in a folder, yield a client of it, and stop it.

    Raises:
        ReplayError: it does not start.
    """
    services = [f"--service-address={text}" for text in service_addresses]
    log = log_path(folder)
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            *serve_command(folder, [*_FLAGS, *services]), stdin=DEVNULL, stdout=PIPE, stderr=errors
        )
    try:
        await _ready(process, log)
        client = ServerClient(kubeconfig.load(kubeconfig_path(folder)))
        try:
            yield client
        finally:
            await client.close()
    finally:
        await asyncio.shield(_stop(process))


async def _ready(process: Process, log: Path) -> None:
    """Wait until the server serves. Raises ReplayError."""
    if process.stdout is None:
        raise ReplayError("the server has no output")
    with suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while line := await process.stdout.readline():
                if line.startswith(READY):
                    return
    raise ReplayError(f"the server does not start: {last_line(log)}")


async def _stop(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.communicate(), STOP_SECONDS)
    if process.returncode is None:
        process.kill()
        await process.communicate()
