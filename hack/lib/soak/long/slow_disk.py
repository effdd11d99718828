"""An etcd whose disk can be slowed while it runs: the pinned etcd, with a delay in the function that waits for the disk."""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from hack.lib.reference import binaries, golang
from hack.lib.reference.filelock import locked

DELAY_FILE: Final = "APIEXT_SYNC_DELAY_FILE"
"""The environment variable of the program that names the file with its delay in milliseconds."""
_PACKAGE: Final = "go.etcd.io/etcd/server/v3"
_LIBRARY: Final = "go.etcd.io/etcd/client/pkg/v3"
_REPLACED: Final = "fileutil/sync_linux.go"
_SOURCE: Final = binaries.MODULE / "slowdisk" / "sync_linux.go"


def program(progress: golang.Progress = print) -> Path:
    """Return the program; build it first if it is missing.

    Raises:
        BuildError: The build fails.
    """
    digest = hashlib.sha256(_SOURCE.read_bytes()).hexdigest()[:16]
    target = binaries.bin_folder().parent / f"slow-disk-{digest}" / "etcd"
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.parent / "lock", lambda: progress("another process is building etcd; waiting for it")):
        if not target.exists():
            _build(target, progress)
    return target


def _build(target: Path, progress: golang.Progress) -> None:
    """Build etcd with a copy of the library in which one file is replaced."""
    cache = binaries.cache_folder()
    library = target.parent / "library"
    shutil.rmtree(library, ignore_errors=True)
    shutil.copytree(golang.folder_of(_LIBRARY, binaries.MODULE, cache=cache, progress=progress), library, copy_function=shutil.copyfile)
    for folder in (library, *(path for path in library.rglob("*") if path.is_dir())):
        folder.chmod(0o755)  # those of the module cache are read-only
    shutil.copyfile(_SOURCE, library / _REPLACED)
    modfile = target.parent / "go.mod"
    modfile.write_text(f"{(binaries.MODULE / 'go.mod').read_text()}\nreplace {_LIBRARY} => {library}\n")
    shutil.copyfile(binaries.MODULE / "go.sum", target.parent / "go.sum")
    golang.build(binaries.MODULE, {_PACKAGE: target}, ldflags="-s -w", cache=cache, progress=progress, modfile=modfile)


@contextmanager
def slowed(delay_file: Path, milliseconds: int) -> Iterator[None]:
    """Let each wait for the disk of the program with this file take longer during the block."""
    delay_file.write_text(str(milliseconds))
    try:
        yield
    finally:
        delay_file.write_text("")
