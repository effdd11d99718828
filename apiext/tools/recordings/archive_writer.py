"""Writes archives: complete ones under their name, or none."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Final

from apiext.base.atomic_files import whole_file
from apiext.base.meta.encoding import json_codec
from apiext.tools.archives import ArchiveMember, pack
from apiext.tools.recordings.archive_format import MANIFEST, definition_member, objects_member
from apiext.tools.releases.interface import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.recordings.archive_format import RecordingManifest
    from apiext.tools.releases.object_spool import ObjectSpool

_LEVEL: Final = 6
"""Compression: higher levels take much longer for a few percent."""


def check_target(path: Path, *, force: bool) -> None:
    """Check that an archive can be written.

    Raises:
        SourceError: its folder is missing, or it exists and must not be replaced.
    """
    if path.is_dir():
        raise SourceError(f"{path} is a folder")
    if not path.absolute().parent.is_dir():
        raise SourceError(f"{path.absolute().parent} is no folder")
    if path.exists() and not force:
        raise SourceError(f"{path} exists: --force replaces it")


def write_archive(path: Path, manifest: RecordingManifest, definitions: Mapping[str, Object], objects: ObjectSpool, *, force: bool) -> None:
    """Write an archive that only the owner can read. `objects` has the lines of each definition's objects under its name.

    Raises:
        SourceError: the archive cannot be written, or exists.
    """
    check_target(path, force=force)
    try:
        with whole_file(path, replace=force) as file:
            pack(file, _members(manifest, definitions, objects), level=_LEVEL, mode=0o644)
    except FileExistsError as error:
        raise SourceError(f"{path} exists: --force replaces it") from error
    except OSError as error:
        raise SourceError(f"{path} cannot be written: {error.strerror or error}") from error


def _members(manifest: RecordingManifest, definitions: Mapping[str, Object], objects: ObjectSpool) -> Iterator[ArchiveMember]:
    yield _member(MANIFEST, manifest.dump())
    for name in sorted(definitions):
        yield _member(definition_member(name), json_codec.dumps(definitions[name]) + b"\n")
    for name in sorted(definitions):
        yield ArchiveMember(objects_member(name), objects.size(name)[1], _Lines(line for _, line in objects.items(name)))


def _member(name: str, data: bytes) -> ArchiveMember:
    return ArchiveMember(name, len(data), io.BytesIO(data))


class _Lines(io.RawIOBase):
    """Reads lines that are made one by one."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        super().__init__()
        self._lines = lines
        self._rest = b""

    def read(self, size: int = -1, /) -> bytes:
        """Return exactly `size` bytes unless the lines end before."""
        parts, length = [self._rest], len(self._rest)
        while length < size and (line := next(self._lines, b"")):
            parts.append(line)
            length += len(line)
        found = b"".join(parts)
        self._rest = found[size:]
        return found[:size]
