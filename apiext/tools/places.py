"""The kinds of places that definitions and objects come from, told apart by their text on the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding.documents import FileProblem, parse
from apiext.tools.archives import GZIP_MAGIC
from apiext.tools.recordings.archive_reader import open_archive
from apiext.tools.releases.cluster_connection import ClusterAccess
from apiext.tools.releases.cluster_source import ClusterSource
from apiext.tools.releases.conversions import with_conversions
from apiext.tools.releases.git_revision import files_of_revision, is_revision, release_of_revision
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.manifest_source import ManifestSource
from apiext.tools.releases.store_place import EtcdAccess, is_data_dir, is_etcd, is_snapshot, open_store

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from apiext.tools.releases.interface import Release, WholeSource

DEFAULT_CLUSTER: Final = "kubeconfig"
"""The text that means the cluster of the flags, else that of kubectl."""
_CONFIG: Final = re.compile(rb"""^[ {,]*["']?kind["']?:\s*["']?Config["']?\s*[,}]?\s*$""", re.MULTILINE)
_HEAD_BYTES: Final = 32


class PlaceKind(StrEnum):
    """The kind of a place."""

    FILES = "files"
    CLUSTER = "cluster"
    ARCHIVE = "archive"
    STORE = "store"
    REVISION = "revision"


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach clusters and stores: the flags of the command."""

    cluster: ClusterAccess = field(default_factory=ClusterAccess)
    etcd: EtcdAccess = field(default_factory=EtcdAccess)


@dataclass(frozen=True, slots=True)
class SourcePlace:
    """A place, with its text on the command line."""

    kind: PlaceKind
    text: str
    path: str | None = None
    """The path in a revision, None for a revision alone."""


async def place_of(text: str, *, paths: Sequence[str | Path] = ()) -> SourcePlace:
    """Return the place that a text names. Of a path and a git revision of the same name the path counts. REVISION:PATH is as in git.

    `paths` are in the git work tree whose revisions may be named; empty for the current folder.

    Raises:
        SourceError: it names none.
    """
    if text == DEFAULT_CLUSTER:
        return SourcePlace(PlaceKind.CLUSTER, "")
    if is_etcd(text):
        return SourcePlace(PlaceKind.STORE, text)
    kind = _kind_of_path(Path(text))
    if kind is not None:
        return SourcePlace(kind, text)
    if await is_revision(text, paths):
        return SourcePlace(PlaceKind.REVISION, text)
    revision, colon, path = text.partition(":")
    if colon and revision and await is_revision(revision, ()):
        return SourcePlace(PlaceKind.REVISION, revision, path)
    kinds = "a file or folder, the URL of an etcd, a git revision (or REVISION:PATH), or the word kubeconfig"
    raise SourceError(f"{text!r} names nothing that exists: {kinds} is expected")


async def open_release(
    text: str, access: Access, *, paths: Sequence[str | Path] = (), names: Collection[str] | None = None, groups: Collection[str] = ()
) -> Release:
    """Return the release of definitions at a place.

    `paths` are the files and folders that a git revision is read at. Of other places, `names` and `groups` limit what is read.

    Raises:
        SourceError: there is no such place, or it cannot be read.
    """
    place = await place_of(text, paths=paths)
    if place.kind is PlaceKind.REVISION and place.path is None:
        if not paths:
            raise SourceError(f"git revision {text}: there are no files to read in it")
        return await release_of_revision(text, paths)
    source = await _open(place, access)
    try:
        return await with_conversions(source, await source.release(names, groups=groups))
    finally:
        await source.close()


async def open_source(text: str, access: Access) -> WholeSource:
    """Return the definitions and objects at a place. The caller closes it.

    Raises:
        SourceError: there is no such place, or it cannot be opened.
    """
    place = await place_of(text)
    if place.kind is PlaceKind.REVISION and place.path is None:
        raise SourceError(f"{text!r} is a git revision without a path: {text}:FOLDER names the objects of a folder in it")
    return await _open(place, access)


async def _open(place: SourcePlace, access: Access) -> WholeSource:
    if place.kind is PlaceKind.FILES:
        return ManifestSource([place.text])
    if place.path is not None:
        files = await files_of_revision(place.text, place.path)
        return ManifestSource([f"git {place.text}:{place.path}"], files=lambda: files)
    if place.kind is PlaceKind.CLUSTER:
        return ClusterSource(_cluster(place, access).connect())
    if place.kind is PlaceKind.ARCHIVE:
        return await open_archive(place.text)
    return await open_store(place.text, access.etcd)


def _cluster(place: SourcePlace, access: Access) -> ClusterAccess:
    return replace(access.cluster, kubeconfig=place.text) if place.text else access.cluster


def _kind_of_path(given: Path) -> PlaceKind | None:
    """Return the kind of an existing file or folder, or None."""
    path = given.expanduser()
    if path.is_dir():
        return PlaceKind.STORE if is_data_dir(path) else PlaceKind.FILES
    if not path.exists():
        return None
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head.startswith(GZIP_MAGIC):
            return PlaceKind.ARCHIVE
        if is_snapshot(head):
            return PlaceKind.STORE
        return PlaceKind.CLUSTER if _is_kubeconfig(path.read_bytes()) else PlaceKind.FILES
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error


def _is_kubeconfig(data: bytes) -> bool:
    if _CONFIG.search(data) is None and b'"Config"' not in data:
        return False
    try:
        documents: list[Any] = parse(data)
    except FileProblem:
        return False
    return any(isinstance(document, dict) and document.get("kind") == "Config" and "clusters" in document for document in documents[:1])
