"""Writes backups: complete ones under their names, or none."""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.base.atomic_files import sync, whole_file
from apiext.storage.backups.stored_pairs import BackupError
from apiext.tools.archives import ArchiveMember, pack
from apiext.tools.backup.manifest import MANIFEST, BackupMember

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.tools.backup.manifest import BackupManifest

_LEFT_OVER: Final = re.compile(r"\.apiext-\d{8}T\d{6}Z\.tar\.gz\.\w+")
"""Names of work folders of backups that are named after their times."""
_LEFT_OVER_SECONDS: Final = 86_400.0
"""Seconds after which such a folder belongs to no running backup."""
_LEVEL: Final = 1
"""Compression: level 6 takes three times as long for a tenth less."""


@contextmanager
def work_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside the target, for parts of a backup; only the owner can read it.

    Delete those of backups in the same folder that were killed more than a day ago: they could leave no room for any further one.

    Raises:
        BackupError: it cannot be made.
    """
    parent = target.absolute().parent
    try:
        _delete_left_over(parent)
        folder = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=parent))
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error.strerror}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _delete_left_over(parent: Path) -> None:
    for path in parent.iterdir():
        # others may delete it, too
        with suppress(FileNotFoundError):
            if _LEFT_OVER.fullmatch(path.name) and path.stat().st_mtime < time.time() - _LEFT_OVER_SECONDS:
                shutil.rmtree(path, ignore_errors=True)


def write_archive(target: Path, manifest: BackupManifest, members: Sequence[Path], folder: Path) -> BackupManifest:
    """Write an archive of files into a work folder of the target, and rename it when it is on disk. Return the manifest.

    Raises:
        BackupError: a file cannot be read or written.
    """
    try:
        manifest = replace(manifest, members=[_member(path) for path in members])
        with ExitStack() as stack, whole_file(target, folder=folder) as file:
            pack(file, _members(manifest, members, stack), level=_LEVEL, mode=0o600)
        sync(target.absolute().parent)
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error.strerror or error}") from error
    return manifest


def _members(manifest: BackupManifest, paths: Sequence[Path], stack: ExitStack) -> Iterator[ArchiveMember]:
    head = manifest.dump()
    yield ArchiveMember(MANIFEST, len(head), io.BytesIO(head))
    for path, member in zip(paths, manifest.members, strict=True):
        yield ArchiveMember(member.name, member.size, stack.enter_context(path.open("rb")))


def _member(path: Path) -> BackupMember:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return BackupMember(path.name, file.tell(), digest)
