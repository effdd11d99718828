"""A server of one replay: `apiext serve` on loopback, with its store in a temporary folder."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from apiext.lab.replay.outcome import ReplayError
from apiext.lab.replay.server_client import ServerClient
from apiext.webhook.clientcmd import kubeconfig

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path

_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 15.0
_READY: Final = b"apiext is ready"
STORE_FILE: Final = "apiext.db"
"""The store in the folder of a server's data."""
_FLAGS: Final = ("--bind-address=127.0.0.1", "--secure-port=0", "--enable-priority-and-fairness=false", "--event-ttl=0")


@asynccontextmanager
async def running_server(folder: Path, service_addresses: Sequence[str] = ()) -> AsyncGenerator[ServerClient]:
    """Start a server with its data in a folder, yield a client of it, and stop it.

    Raises:
        ReplayError: it does not start.
    """
    services = [f"--service-address={text}" for text in service_addresses]
    command = [sys.executable, "-m", "apiext", "serve", f"--data-dir={folder}", *_FLAGS, *services]
    log = folder / "server.log"
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=errors)
    try:
        await _ready(process, log)
        client = ServerClient(kubeconfig.load(folder / "pki" / "apiext.kubeconfig"))
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
        async with asyncio.timeout(_START_SECONDS):
            while line := await process.stdout.readline():
                if line.startswith(_READY):
                    return
    raise ReplayError(f"the server of the replay does not start: {_last_line(log)}")


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "no reason is known"


async def _stop(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
        with suppress(TimeoutError):
            await asyncio.wait_for(process.communicate(), _STOP_SECONDS)
    if process.returncode is None:
        process.kill()
        await process.communicate()
