"""Files that survive a failure: atomic writes (write a temporary file, then rename it), and waiting for the disk."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Generator


@contextlib.contextmanager
def whole_file(path: Path, *, folder: Path | None = None, mode: int = 0o600, replace: bool = True) -> Generator[BinaryIO]:
    """Yield a file that takes its name once it is complete and on the disk. If the block fails, nothing changes and nothing is left.

    Until then it is in `folder`, on the same file system, by default in that of its name.

    Raises:
        FileExistsError: another file has the name, and `replace` is not set.
        OSError: the file cannot be written.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=folder or path.absolute().parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(file.fileno(), mode)
            yield file
            file.flush()
            os.fsync(file.fileno())
        if replace:
            temporary.replace(path)
        else:
            path.hardlink_to(temporary)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(path: Path, text: str, *, mode: int) -> None:
    """Replace a file atomically. Readers see the old or the new content.

    Raises:
        OSError: the file cannot be written; the old one is unchanged.
    """
    with whole_file(path, mode=mode) as file:
        file.write(text.encode())


def make_private(folder: Path) -> None:
    """Create a folder, and the missing ones above it, for this user only. Refuse one in which others may replace files.

    Others are users of no group of this process: Kubernetes makes volumes writable for the group of a pod.

    Raises:
        OSError: the folder cannot be created, or others may write to it.
    """
    for missing in reversed([one for one in (folder, *folder.parents) if not one.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    is_ours = found.st_gid in {os.getegid(), *os.getgroups()}
    if found.st_mode & (stat.S_IWOTH if is_ours else stat.S_IWOTH | stat.S_IWGRP):
        mode = stat.S_IMODE(found.st_mode)
        raise PermissionError(errno.EPERM, f"other users may write to it (its mode is {mode:04o}; 0700 is safe)", str(folder))


@contextlib.contextmanager
def folder_locked(folder: Path) -> Generator[None]:
    """Wait until no other process that uses this function works in a folder, and exclude others while the block runs.

    Raises:
        OSError: the lock file cannot be written.
    """
    with open(folder / ".lock", "wb", opener=partial(os.open, mode=0o600)) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def sync(path: Path) -> None:
    """Wait until the content of a file, or the names in a folder, are on the disk.

    Raises:
        OSError: the disk refuses.
    """
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_file(path: Path) -> str:
    """Return the text of a file, empty if it does not exist.

    Raises:
        OSError: the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
