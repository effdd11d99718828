"""Definitions from the files of a folder, followed for as long as the server runs (`--crd-dir`).

A file that is taken away takes nothing with it: its definitions stay, and the objects they define. What a file says is applied when the
server starts and when the file changes.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.definitions.sources.crd_documents import FileProblem, definitions
from apiext.meta import json_codec
from apiext.meta.errors import StatusError
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.storage.backend import BackendError
from apiext.storage.interface import StorageError

if TYPE_CHECKING:
    from apiext.meta.json_codec import Object

_LOG: Final = get_logger(__name__)
_ENDINGS: Final = frozenset({".yaml", ".yml", ".json"})
_POLL: Final = 1.0
_RETRY: Final = 5.0
_RETRY_MS: Final = 5000

Apply = Callable[["Object"], Awaitable[None]]
"""Creates a definition or changes its spec. Raises StatusError where that is refused."""

Changes = Callable[[Path], AsyncIterator[bool]]
"""Yields now and then: whether something in a folder may have changed."""

_Stamp = tuple[int, int, int]


@dataclass(slots=True)
class _File:
    """What is known of one file."""

    stamp: _Stamp
    names: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    retry: bool = False
    """Something failed that is not the file's fault."""


class DirectorySource:
    """The definitions of a folder and of the folders in it; hidden ones are left out."""

    __slots__ = ("_applied", "_apply", "_changes", "_files", "_task", "folder")

    def __init__(self, folder: Path, apply: Apply, *, changes: Changes | None = None) -> None:
        self.folder = folder
        self._apply = apply
        self._changes = changes or watch_folder
        self._files: dict[Path, _File] = {}
        self._applied: dict[str, tuple[Path, bytes]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def names(self) -> list[str]:
        """Names of the definitions in the folder's files."""
        return sorted({name for file in self._files.values() for name in file.names})

    @property
    def problems(self) -> list[str]:
        """What is wrong with the files, each with the file's name."""
        return [f"{self._shown(path)}: {problem}" for path, file in sorted(self._files.items()) for problem in file.problems]

    async def load(self) -> None:
        """Apply what is new or changed since the last time. A broken file is reported, and does not keep the others from being applied.

        Raises:
            OSError: the folder cannot be read.
        """
        found = await asyncio.to_thread(_scan, self.folder)
        for path in [path for path in self._files if path not in found]:
            file = self._files.pop(path)
            if file.names:
                _LOG.info("a file is gone; what it defined stays", file=self._shown(path), definitions=",".join(file.names))
        for path, stamp in sorted(found.items()):
            known = self._files.get(path)
            if known is None or known.stamp != stamp or known.retry:
                self._files[path] = await self._load(path, stamp, known)

    async def start(self) -> None:
        """Load, and follow changes from then on. Raises OSError as `load` does."""
        await self.load()
        self._task = asyncio.create_task(self._follow(), name="definitions-directory")

    async def close(self) -> None:
        """Stop following."""
        if self._task is not None:
            await end_tasks(self._task)
            self._task = None

    async def _follow(self) -> None:
        while True:
            try:
                async for changed in self._changes(self.folder):
                    if changed or any(file.retry for file in self._files.values()):
                        await self.load()
            except OSError as error:
                _LOG.warning("a folder cannot be followed", folder=str(self.folder), error=str(error))
            except Exception:  # noqa: BLE001 -- the folder must be followed for as long as the server runs
                _LOG.exception("a folder cannot be followed", folder=str(self.folder))
            await asyncio.sleep(_RETRY)

    async def _load(self, path: Path, stamp: _Stamp, known: _File | None) -> _File:
        file = _File(stamp)
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            file.problems.append(f"it cannot be read: {error.strerror or error}")
            file.retry = True
        else:
            for found in await asyncio.to_thread(_read, data):
                await self._take(path, file, found)
        if known is None or known.problems != file.problems:
            for problem in file.problems:
                _LOG.error("a file is not applied in full", file=self._shown(path), problem=problem)
        return file

    async def _take(self, path: Path, file: _File, found: Object | FileProblem) -> None:
        if isinstance(found, FileProblem):
            file.problems.append(str(found))
            return
        name = found["metadata"]["name"]
        file.names.append(name)
        other, applied = self._applied.get(name, (path, b""))
        if other != path and name in getattr(self._files.get(other), "names", ()):
            file.problems.append(f"{name} is defined in {self._shown(other)} already")
            return
        digest = hashlib.sha256(json_codec.dumps(found)).digest()
        if applied == digest:
            self._applied[name] = path, digest
            return
        try:
            await self._apply(found)
        except StatusError as error:
            file.problems.append(error.message)
        except (StorageError, BackendError) as error:
            file.problems.append(f"{name} cannot be stored: {error}")
            file.retry = True
        else:
            self._applied[name] = path, digest
            _LOG.info("a definition is applied", file=self._shown(path), definition=name)

    def _shown(self, path: Path) -> str:
        return str(path.relative_to(self.folder)) if path.is_relative_to(self.folder) else str(path)


def _read(data: bytes) -> list[Object | FileProblem]:
    return list(definitions(data))


def _scan(folder: Path) -> dict[Path, _Stamp]:
    """The files that may hold definitions; symbolic links are followed, as mounted configuration needs it."""
    if not folder.is_dir():
        raise NotADirectoryError(20, "not a folder", str(folder))
    found = {}
    for path in folder.rglob("*"):
        if path.suffix not in _ENDINGS or any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        with suppress(OSError):
            stat = path.stat()
            if path.is_file():
                found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return found


async def watch_folder(folder: Path) -> AsyncGenerator[bool, None]:
    """Tell of changes as the system notices them, or else look every second."""
    try:
        from watchfiles import awatch
    except ImportError:
        async for changed in _look_again():
            yield changed
        return
    watcher = awatch(folder, debounce=200, step=50, rust_timeout=_RETRY_MS, yield_on_timeout=True)
    pending = asyncio.ensure_future(anext(watcher))
    try:
        # The watch is set up before the next look, so that no change falls between the two.
        await asyncio.sleep(0)
        yield True
        while True:
            changes = await pending
            pending = asyncio.ensure_future(anext(watcher))
            yield bool(changes)
    finally:
        pending.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration):
            await pending


async def _look_again() -> AsyncIterator[bool]:
    while True:
        await asyncio.sleep(_POLL)
        yield True
