"""Snapshots of etcd, restored by its own tools into a temporary folder and served on the loopback address."""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.tools.releases.interface import SourceError

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncGenerator

_START_SECONDS: Final = 60.0
_TICK_SECONDS: Final = 0.05


@asynccontextmanager
async def served_snapshot(file: Path, tools: Path | None = None) -> AsyncGenerator[str]:
    """Yield the URL of an etcd with the content of a snapshot; it ends, and its data is deleted, afterwards.

    Raises:
        SourceError: a tool is missing, the file is not a snapshot, or etcd does not start.
    """
    restore, serve = _tool("etcdutl", tools), _tool("etcd", tools)
    with tempfile.TemporaryDirectory(prefix="apiext-snapshot-") as folder:
        data = Path(folder, "data")
        await _restore(restore, file, data)
        async with _etcd(serve, data) as url:
            yield url


def _tool(name: str, folder: Path | None) -> str:
    found = shutil.which(name, path=None if folder is None else str(folder))
    if found is None:
        where = "PATH" if folder is None else str(folder)
        raise SourceError(
            f"a snapshot is read with etcd's own tools, and {where} has no {name}: install it, or name the folder that has it"
        )
    return found


async def _restore(tool: str, file: Path, data: Path) -> None:
    arguments = ["snapshot", "restore", str(file), f"--data-dir={data}"]
    process = await asyncio.create_subprocess_exec(tool, *arguments, stdin=DEVNULL, stdout=PIPE, stderr=STDOUT)
    try:
        output, _ = await process.communicate()
    except BaseException:
        await _end(process)
        raise
    if process.returncode:
        raise SourceError(f"{file} cannot be restored as a snapshot of etcd: {_last_line(output)}")


@asynccontextmanager
async def _etcd(tool: str, data: Path) -> AsyncGenerator[str]:
    port, peer_port = _free_ports()
    url, peer = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer_port}"
    log = data.with_name("etcd.log")
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            tool,
            f"--data-dir={data}",
            f"--listen-client-urls={url}",
            f"--advertise-client-urls={url}",
            f"--listen-peer-urls={peer}",
            "--unsafe-no-fsync",
            "--log-level=error",
            stdin=DEVNULL,
            stdout=output,
            stderr=STDOUT,
        )
    try:
        await _wait(process, port, log)
        yield url
    finally:
        await _end(process)


async def _wait(process: Process, port: int, log: Path) -> None:
    """Wait until etcd listens; the client waits for its first answer."""
    deadline = asyncio.get_running_loop().time() + _START_SECONDS
    while asyncio.get_running_loop().time() < deadline:
        if process.returncode is not None:
            raise SourceError(f"etcd cannot serve the snapshot: {_last_line(await asyncio.to_thread(log.read_bytes))}")
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(_TICK_SECONDS)
            continue
        writer.close()
        await writer.wait_closed()
        return
    raise SourceError(f"etcd does not serve the snapshot after {_START_SECONDS:.0f} s")


async def _end(process: Process) -> None:
    """Kill a process. Its data is temporary."""
    if process.returncode is None:
        process.kill()
    await process.wait()


def _free_ports() -> tuple[int, int]:
    with closing(socket.socket()) as first, closing(socket.socket()) as second:
        for one in (first, second):
            one.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it says nothing"
