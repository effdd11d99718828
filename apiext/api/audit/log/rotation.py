"""A log file that is rotated by size (gopkg.in/natefinch/lumberjack.v2, which the reference uses)."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import threading
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.api.audit.log.output import LineAppender, PartialWriteError
from apiext.base.meta.log import get_logger

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.api.audit.log.output import ProcessLock

_LOG: Final = get_logger(__name__)
_MEGABYTE: Final = 1024 * 1024
_TIME_FORMAT: Final = "%Y-%m-%dT%H-%M-%S."
_COMPRESSED: Final = ".gz"
_MODE: Final = 0o600
_MAX_DAYS: Final = 100_000
"""Older files do not exist; datetime has no dates before the year 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationLimits:
    """When a file is rotated, and which rotated files are kept; 0 disables a limit."""

    max_size: int = 100
    """Megabytes of a file."""
    max_age: int = 366
    """Days."""
    max_backups: int = 100
    """Rotated files."""
    compress: bool = False


class LogLocks(NamedTuple):
    """The locks of a log that several processes write."""

    writing: ProcessLock
    backups: ProcessLock


class RotatedFile:
    """A log file. Its methods block, and must be called in one thread at a time.

    With `locks`, several processes may write it: each of them notices when another one has rotated it.
    """

    def __init__(self, path: Path, limits: RotationLimits, locks: LogLocks | None = None) -> None:
        """Create the file and its folder unless they exist.

        Raises:
            OSError: the file cannot be written.
        """
        self._path = path
        self._limits = limits
        self._locks = locks
        self.max_line = limits.max_size * _MEGABYTE
        """Bytes above which a line cannot be written; 0 without a limit."""
        self._fd = -1
        self._appender = LineAppender()
        self._mill = threading.Lock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR, _MODE))
        # a pipe waits for its reader, and a lock for other processes
        self.is_quick = locks is None and path.is_file()

    def write(self, data: bytes) -> None:
        """Append whole lines; rotate the file before a line for which it has no room.

        Raises:
            PartialWriteError: the file cannot be written or rotated; some lines may have been written.
        """
        self._appender.written = 0
        try:
            if self._locks is None:
                self._write(data)
                return
            with self._locks.writing.held():
                self._follow()
                self._write(data)
        except OSError as error:
            raise PartialWriteError(error, self._appender.written) from error

    def _follow(self) -> None:
        """Follow what other processes have done to the file."""
        if self._fd < 0:
            return
        own = os.fstat(self._fd)
        with suppress(FileNotFoundError):
            if os.path.samestat(self._path.stat(), own):
                self._appender.follow(self._fd, own.st_size)
                return
        os.close(self._fd)
        self._fd = -1

    def _write(self, data: bytes) -> None:
        limit = self.max_line
        if self._fd >= 0 and (not limit or self._appender.size + len(data) <= limit):
            self._append(data)
        else:
            self._write_lines(data, limit)

    def _write_lines(self, data: bytes, limit: int) -> None:
        begin = end = 0
        """The lines that are not written, and for which the file has room."""
        while end < len(data):
            line_end = data.index(b"\n", end) + 1
            size = line_end - end
            if self._fd < 0:
                self._open(size, limit)
            if limit and size > limit:
                raise OSError(f"write length {size} exceeds maximum file size {limit}")
            if limit and self._appender.size + line_end - begin > limit:
                self._append(memoryview(data)[begin:end])
                begin = end
                self._rotate()
            end = line_end
        self._append(memoryview(data)[begin:])

    def close(self) -> None:
        """Close the file, and wait until rotated files are compressed."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        with self._mill:
            pass

    def _append(self, data: bytes | memoryview) -> None:
        self._appender.append(self._fd, data)

    def _open(self, coming: int, limit: int) -> None:
        """Open the file; rotate it first if it has no room for a line of so many bytes."""
        if limit:
            self._clean_up()
        size, access = 0, os.O_RDWR
        with suppress(FileNotFoundError):
            found = self._path.stat()
            size = found.st_size
            if not stat.S_ISREG(found.st_mode):
                # a pipe does not report that its reader has gone to a process that could read it
                access = os.O_WRONLY
        if limit and size + coming >= limit:
            self._rotate()
            return
        self._fd = os.open(self._path, os.O_CREAT | os.O_APPEND | access, _MODE)
        self._appender.follow(self._fd, size)

    def _rotate(self) -> None:
        """Rename the file to its backup's name, and begin a new one with the same mode and owner."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        mode = _MODE
        with suppress(FileNotFoundError):
            found = self._path.stat()
            mode = stat.S_IMODE(found.st_mode)
            self._path.rename(self._backup_path())
        self._fd = os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_TRUNC | os.O_APPEND, mode)
        self._appender.follow(self._fd, 0)
        self._clean_up()

    def _backup_path(self) -> Path:
        """Return the name of a new backup: with the present time, or a later one if a backup has that."""
        now = datetime.now(UTC)
        while True:
            moment = f"{now.strftime(_TIME_FORMAT)}{now.microsecond // 1000:03d}"
            path = self._path.with_name(f"{self._path.stem}-{moment}{self._path.suffix}")
            if not path.exists() and not path.with_name(path.name + _COMPRESSED).exists():
                return path
            now += timedelta(milliseconds=1)

    # --- rotated files ------------------------------------------------------------------------------------------------

    def _clean_up(self) -> None:
        """Delete and compress rotated files, in a thread: compression takes long."""
        limits = self._limits
        if limits.max_age or limits.max_backups or limits.compress:
            threading.Thread(target=self._clean_up_now, name="audit-backups").start()

    def _clean_up_now(self) -> None:
        with self._mill, self._locks.backups.held() if self._locks is not None else nullcontext():
            try:
                kept = self._delete_old(self._backups())
                for path in kept if self._limits.compress else ():
                    if path.suffix != _COMPRESSED:
                        _compress(path)
            except OSError as error:
                _LOG.error("audit backups could not be deleted or compressed", path=str(self._path), error=str(error))

    def _backups(self) -> list[tuple[datetime, Path]]:
        """Return the rotated files, the newest first."""
        prefix, suffix = f"{self._path.stem}-", self._path.suffix
        found = []
        for path in self._path.parent.iterdir():
            name = path.name.removesuffix(_COMPRESSED)
            if not name.startswith(prefix) or not name.endswith(suffix):
                continue
            moment = name[len(prefix) : len(name) - len(suffix)]
            with suppress(ValueError):
                found.append((datetime.strptime(f"{moment}000", f"{_TIME_FORMAT}%f").replace(tzinfo=UTC), path))
        return sorted(found, reverse=True)

    def _delete_old(self, backups: list[tuple[datetime, Path]]) -> list[Path]:
        """Delete the files beyond the limits, and return the others."""
        limits = self._limits
        oldest = datetime.now(UTC) - timedelta(days=min(limits.max_age, _MAX_DAYS))
        preserved: set[str] = set()
        kept = []
        for moment, path in backups:
            preserved.add(path.name.removesuffix(_COMPRESSED))
            too_many = limits.max_backups and len(preserved) > limits.max_backups
            if too_many or (limits.max_age and moment < oldest):
                path.unlink(missing_ok=True)
            else:
                kept.append(path)
        return kept


def _compress(path: Path) -> None:
    """Replace a file by its compressed form, with the same mode."""
    target = path.with_name(path.name + _COMPRESSED)
    mode = stat.S_IMODE(path.stat().st_mode)
    try:
        descriptor = os.open(target, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, mode)
        with path.open("rb") as source, os.fdopen(descriptor, "wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
            shutil.copyfileobj(source, packed)
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    path.unlink()
