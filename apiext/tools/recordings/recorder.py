"""Records definitions and objects of a source in an archive."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from apiext.base.atomic_files import whole_file
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.limits import MAX_DEPTH
from apiext.tools.archives import ArchiveMember, pack
from apiext.tools.recordings.anonymization import Anonymizer
from apiext.tools.recordings.archive_format import MANIFEST, RecordingManifest, definition_member, dump_object, load_object, objects_member
from apiext.tools.recordings.pseudonyms import Pseudonyms
from apiext.tools.recordings.redaction import Redactor
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.object_spool import ObjectSpool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.recordings.field_path import FieldPath
    from apiext.tools.releases.interface import ObjectSource, Release, SourceObject

Progress = Callable[[str, int, int | None], None]
"""Receives a definition's name, the number of its objects that are recorded, and their number in all if that is known."""

_TOO_DEEP: Final = "is nested too deeply to be recorded without its secrets or names"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingOptions:
    """What is recorded, and how."""

    names: Collection[str] = ()
    """The definitions; empty for all."""
    redact: bool = True
    paths: Sequence[FieldPath] = ()
    """Fields to redact beside those that are found."""
    anonymize: bool = False
    force: bool = False
    """Replace an existing archive."""


async def record(
    source: ObjectSource, release: Release, target: Path, options: RecordingOptions, progress: Progress = lambda *_: None
) -> RecordingManifest:
    """Write the definitions of a release and their objects to an archive. Return its manifest.

    Objects are kept in temporary files: memory does not grow with their number.

    Raises:
        SourceError: the source cannot be read, a definition is missing, or the archive cannot be written.
    """
    check_target(target, force=options.force)
    chosen = {definition.name: definition for definition in _chosen(release, options.names)}
    with closing(ObjectSpool()) as spool:
        for definition in chosen.values():
            await _read(source, definition, spool, options, progress)
        manifest = RecordingManifest(
            origin=source.origin,
            is_redacted=options.redact,
            is_anonymized=options.anonymize,
            objects={name: spool.size(name)[0] for name in chosen},
        )
        crds = {name: definition.object for name, definition in chosen.items()}
        if not options.anonymize:
            write_archive(target, manifest, crds, spool, force=options.force)
            return manifest
        with closing(Pseudonyms()) as pseudonyms, closing(ObjectSpool()) as anonymous:
            crds = _anonymize(chosen, spool, anonymous, pseudonyms)
            write_archive(target, replace(manifest, origin=""), crds, anonymous, force=options.force)
    return manifest


def _chosen(release: Release, names: Collection[str]) -> list[Definition]:
    for name, reasons in sorted(release.refused.items()):
        raise SourceError(f"{release.origin}: {name} is invalid: {reasons[0]}")
    if not release.definitions and not names:
        raise SourceError(f"{release.origin} has no definitions")
    for name in names:
        if name not in release.definitions:
            raise SourceError(f"{release.origin} has no definition {name}")
    return [release.definitions[name] for name in sorted(names or release.definitions)]


async def _read(source: ObjectSource, definition: Definition, spool: ObjectSpool, options: RecordingOptions, progress: Progress) -> None:
    redact = Redactor(definition, options.paths).redact if options.redact else None
    total, done = await source.count(definition), 0
    progress(definition.name, done, total)
    async for page in source.pages(definition):
        for found in page:
            spool.add(definition.name, found.key, dump_object(_changed(found, redact)))
        done += len(page)
        progress(definition.name, done, total)


def _changed(found: SourceObject, change: Callable[[Object], Object] | None) -> SourceObject:
    if change is None or found.problem:
        return found
    if is_deeper(found.object, MAX_DEPTH):
        return replace(found, object={}, problem=_TOO_DEEP)
    return replace(found, object=change(found.object))


def _anonymize(definitions: dict[str, Definition], spool: ObjectSpool, anonymous: ObjectSpool, pseudonyms: Pseudonyms) -> dict[str, Object]:
    """Write the objects of a spool to another one without names; return the definitions without them."""
    anonymizers = {name: Anonymizer(definition, pseudonyms) for name, definition in definitions.items()}
    for name, anonymizer in anonymizers.items():
        for _, line in spool.items(name):
            found = load_object(line)
            anonymizer.collect(found.key, found.object)
    for name, anonymizer in anonymizers.items():
        for _, line in spool.items(name):
            found = load_object(line)
            new = _changed(replace(found, key=anonymizer.key(found.key)), anonymizer.anonymize)
            anonymous.add(name, new.key, dump_object(new))
    return {name: anonymizer.definition(definitions[name].object) for name, anonymizer in anonymizers.items()}
