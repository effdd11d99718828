"""Definitions from the files of a folder, watched while the server runs (`--crd-dir`), and Conversions beside them.

The server applies a file at its start and whenever the file changes. Removing a file removes neither definitions nor instances, but
its Conversions: they are stored nowhere else. A file that cannot be parsed keeps those that it had.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.documents import FileProblem
from apiext.base.meta.errors import StatusError
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.resources.definitions.sources.crd_documents import definitions, is_conversion
from apiext.storage.backend import BackendError
from apiext.storage.errors import StorageError

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.sources.conversion_files import ConversionFiles

_LOG: Final = get_logger(__name__)
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_STEPS: Final = "kubectl get --raw /readyz/crd-dir"
"""Prints the steps that make pending files acceptable."""
_RETRY_INTERVAL: Final = 5.0
"""Seconds before reading a failed file or watching the folder again."""

Apply = Callable[["Object"], Awaitable[None]]
"""Creates a definition or updates its spec. Raises StatusError for a rejected definition, BlockedError if a retry may succeed."""


class BlockedError(Exception):
    """The current state of a definition rejects a valid file. The source retries."""

    def __init__(self, message: str, steps: Sequence[str]) -> None:
        """Create the error. `steps` say how to make the file acceptable."""
        super().__init__(message)
        self.steps = steps


_Stamp = tuple[int, int, int]


@dataclass(slots=True)
class _File:
    """State of one file."""

    stamp: _Stamp
    names: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)
    """Problems of valid definitions, which the present ones cause."""
    steps: list[str] = field(default_factory=list)
    """Known steps that make the file acceptable."""
    retry: bool = False
    """Whether the next event reads the file again, after a failure with another cause than the file."""


class DirectorySource:
    """Applies the definitions in a folder and its subfolders; ignores hidden files and folders."""

    __slots__ = ("_applied", "_apply", "_conversions", "_files", "_task", "folder")

    def __init__(self, folder: Path, apply: Apply, conversions: ConversionFiles) -> None:
        """Create the source. Definitions go to `apply`, Conversions to `conversions`."""
        self.folder = folder
        self._conversions = conversions
        self._apply = apply
        self._files: dict[Path, _File] = {}
        self._applied: dict[str, tuple[Path, bytes]] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def names(self) -> list[str]:
        """Return the names of the definitions in the files."""
        return sorted({name for file in self._files.values() for name in file.names})

    @property
    def problems(self) -> list[str]:
        """Return the problems of the files, each prefixed with the file name, and what names the steps of a pending one."""
        problems: list[str] = []
        for path, file in sorted(self._files.items()):
            problems += [f"{self._display(path)}: {problem}" for problem in file.problems]
            problems += [f"{self._display(path)}: pending, {_STEPS} says what to do: {problem}" for problem in file.pending]
        return problems

    @property
    def remarks(self) -> list[str]:
        """Return the problems of the files; for those caused by a definition's state, with the steps that solve them."""
        remarks: list[str] = []
        for path, file in sorted(self._files.items()):
            remarks += [f"{self._display(path)}: {problem}" for problem in (*file.problems, *file.pending)]
            remarks += [f"{self._display(path)}: to accept it, step {number}: {step}" for number, step in enumerate(file.steps, 1)]
        return remarks

    async def load(self) -> None:
        """Apply new and changed files. Log a broken file, and continue with the others.

        Raises:
            OSError: the folder cannot be read.
        """
        found = await asyncio.to_thread(_scan, self.folder)
        for path in [path for path in self._files if path not in found]:
            file = self._files.pop(path)
            self._conversions.remove(path)
            if file.names:
                _LOG.info("definition file removed, its definitions are kept", file=self._display(path), definitions=",".join(file.names))
        for path, stamp in sorted(found.items()):
            known = self._files.get(path)
            if known is None or known.stamp != stamp or known.retry:
                self._files[path] = await self._load(path, stamp, known)

    async def start(self) -> None:
        """Apply all files, then watch the folder.

        Raises:
            OSError: the folder cannot be read.
        """
        await self.load()
        self._task = asyncio.create_task(self._follow(), name="definitions-directory")

    async def close(self) -> None:
        """Stop watching."""
        if self._task is not None:
            await end_tasks(self._task)
            self._task = None

    async def _follow(self) -> None:
        while True:
            try:
                async for changed in watch_folder(self.folder):
                    if changed or any(file.retry for file in self._files.values()):
                        await self.load()
            except OSError as error:
                _LOG.warning("definition folder watch failed, retrying", folder=str(self.folder), error=str(error))
            except Exception:  # noqa: BLE001 -- the folder must be watched while the server runs
                _LOG.exception("definition folder watch failed, retrying", folder=str(self.folder))
            await asyncio.sleep(_RETRY_INTERVAL)

    async def _load(self, path: Path, stamp: _Stamp, known: _File | None) -> _File:
        file = _File(stamp)
        try:
            data = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            file.problems.append(f"cannot be read: {error.strerror or error}")
            file.retry = True
            self._conversions.put(path, (), is_complete=False)
        else:
            documents = await asyncio.to_thread(list, definitions(data))
            file.problems += [f"Conversion {name}: {problem}" for name, problem in self._put_conversions(path, documents)]
            for found in documents:
                if isinstance(found, FileProblem) or not is_conversion(found):
                    await self._apply_document(path, file, found)
        if known is None or (known.problems, known.pending, known.steps) != (file.problems, file.pending, file.steps):
            for problem in file.problems:
                _LOG.error("invalid definition file", file=self._display(path), problem=problem)
            for problem in file.pending:
                _LOG.error("definition file pending", file=self._display(path), problem=problem, steps=_STEPS)
        return file

    def _put_conversions(self, path: Path, documents: Sequence[Object | FileProblem]) -> list[tuple[str, str]]:
        parsed = [found for found in documents if not isinstance(found, FileProblem)]
        rules = [found for found in parsed if is_conversion(found)]
        return self._conversions.put(path, rules, is_complete=len(parsed) == len(documents))

    async def _apply_document(self, path: Path, file: _File, found: Object | FileProblem) -> None:
        if isinstance(found, FileProblem):
            file.problems.append(str(found))
            return
        name = found["metadata"]["name"]
        file.names.append(name)
        other, applied = self._applied.get(name, (path, b""))
        if other != path and name in getattr(self._files.get(other), "names", ()):
            file.problems.append(f"{name} is already defined in {self._display(other)}")
            return
        digest = hashlib.sha256(json_codec.dumps(found)).digest()
        if applied == digest:
            self._applied[name] = path, digest
            return
        try:
            await self._apply(found)
        except StatusError as error:
            file.problems.append(error.message)
        except BlockedError as error:
            file.pending.append(str(error))
            file.steps += error.steps
            file.retry = True
        except (StorageError, BackendError) as error:
            file.problems.append(f"{name} cannot be stored: {error}")
            file.retry = True
        else:
            self._applied[name] = path, digest
            _LOG.info("definition applied", file=self._display(path), definition=name)

    def _display(self, path: Path) -> str:
        return str(path.relative_to(self.folder))


def _scan(folder: Path) -> dict[Path, _Stamp]:
    """Return the files that may contain definitions. Follow symbolic links, of which mounted ConfigMaps consist."""
    if not folder.is_dir():
        raise NotADirectoryError(20, "not a folder", str(folder))
    found = {}
    for path in folder.rglob("*"):
        if path.suffix not in _SUFFIXES or any(part.startswith(".") for part in path.relative_to(folder).parts):
            continue
        with suppress(OSError):
            stat = path.stat()
            if path.is_file():
                found[path] = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
    return found


async def watch_folder(folder: Path) -> AsyncGenerator[bool, None]:
    """Yield True after changes of the folder, and False after `_RETRY_INTERVAL` seconds without any."""
    from watchfiles import awatch

    watcher = awatch(folder, debounce=200, step=50, rust_timeout=round(_RETRY_INTERVAL * 1000), yield_on_timeout=True)
    pending = asyncio.ensure_future(anext(watcher))
    try:
        # Watch before the caller reads the folder: it must not miss a change.
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
