"""Archives, of which backups and recordings are two forms: tar files in gzip that begin with a manifest."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

GZIP_MAGIC: Final = b"\x1f\x8b"
DAMAGED: Final = (gzip.BadGzipFile, EOFError, zlib.error, tarfile.TarError)
"""What reading raises for an archive that is cut or changed."""


class ArchiveMember(NamedTuple):
    """A file of an archive."""

    name: str
    size: int
    content: Any
    """A file, or what reads as one."""


def pack(file: BinaryIO, members: Iterable[ArchiveMember], *, level: int, mode: int) -> None:
    """Write members with a mode. Equal members give equal bytes: nothing has a time. `level` is that of gzip. Raises OSError."""
    packed = gzip.GzipFile(filename="", mode="wb", compresslevel=level, fileobj=file, mtime=0)
    with packed, tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for member in members:
            info = tarfile.TarInfo(member.name)
            info.size, info.mode = member.size, mode
            tar.addfile(info, member.content)
