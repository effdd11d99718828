"""Reads archives."""

from __future__ import annotations

import asyncio
import gzip
import shutil
import tarfile
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.resources.evaluation.definition_creation import parse_definition
from apiext.tools.archives import DAMAGED
from apiext.tools.recordings.archive_format import MANIFEST, RecordingManifest, definition_member, load_object, objects_member
from apiext.tools.releases.interface import Release, SourceError, is_wanted
from apiext.tools.releases.object_pages import paged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterator, Sequence

    from apiext.resources.definitions.definition import Definition
    from apiext.tools.releases.interface import SourceObject

_UNREADABLE: Final = (OSError, *DAMAGED)


class ArchiveSource:
    """Implements WholeSource over an archive."""

    def __init__(self, path: Path, tar: tarfile.TarFile, unpacked: IO[bytes]) -> None:
        """Create a reader of an opened archive; `open_archive` opens one."""
        self._path = path
        self._tar = tar
        self._unpacked = unpacked
        self.manifest = RecordingManifest.load(self._member(MANIFEST) or b"")

    @property
    def origin(self) -> str:
        """Implement ObjectSource.origin."""
        return f"recording {self._path}" + (f" of {self.manifest.origin}" if self.manifest.origin else "")

    async def release(self, names: Collection[str] | None = None, *, groups: Collection[str] = ()) -> Release:
        """Implement WholeSource.release."""
        chosen = [name for name in sorted(self.manifest.objects) if is_wanted(name, names, groups)]
        return Release(self.origin, {name: self._definition(name) for name in chosen}, is_live=True)

    async def count(self, definition: Definition) -> int | None:
        """Implement ObjectSource.count."""
        return self.manifest.objects.get(definition.name, 0)

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Implement ObjectSource.pages."""
        if definition.name in self.manifest.objects:
            for page in paged(self._objects(objects_member(definition.name))):
                yield page

    async def close(self) -> None:
        """Implement ObjectSource.close."""
        self._tar.close()
        self._unpacked.close()

    def _objects(self, member: str) -> Iterator[tuple[SourceObject, int]]:
        try:
            lines = self._tar.extractfile(member)
            for line in lines or ():
                yield load_object(line), len(line)
        except (KeyError, *_UNREADABLE) as error:
            raise SourceError(f"{self._path}: {member} is missing or damaged") from error

    def _definition(self, name: str) -> Definition:
        try:
            return parse_definition(json_codec.loads(self._member(definition_member(name)) or b""))
        except (ValueError, TypeError, KeyError) as error:
            raise SourceError(f"{self._path}: the definition {name} is missing or damaged") from error

    def _member(self, name: str) -> bytes | None:
        try:
            member = self._tar.extractfile(name)
            return member.read() if member is not None else None
        except (KeyError, *_UNREADABLE):
            return None


async def open_archive(path: str | Path) -> ArchiveSource:
    """Open an archive. Its unpacked content is kept in a temporary file, so that any part can be read at once.

    Raises:
        SourceError: the file cannot be read, or is not a recording.
    """
    return await asyncio.to_thread(_open, Path(path))


def _open(given: Path) -> ArchiveSource:
    path = given.expanduser()
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115 -- the reader closes it
    try:
        with gzip.open(path) as packed:
            shutil.copyfileobj(packed, unpacked, 1 << 20)
        unpacked.seek(0)
        return ArchiveSource(path, tarfile.open(fileobj=unpacked, mode="r:"), unpacked)
    except SourceError as error:
        unpacked.close()
        raise SourceError(f"{path}: {error}") from error
    except _UNREADABLE as error:
        unpacked.close()
        raise SourceError(f"{path} is not a recording: {getattr(error, 'strerror', None) or error}") from error
