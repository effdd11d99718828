"""Stores and backups of them for tests."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from apiext.server.composition.storage_backend import store_file
from apiext.server.options.options import StorageOptions
from apiext.storage.backups.stored_pairs import is_content
from apiext.storage.backups.stores import WholeStore
from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.tools.backup.archive_reader import open_backup

ENCRYPTED: Final = b"k8s:enc:aescbc:v1:key1:\x00\xff"
VALUES: Final = {
    "example.com/widgets/default/a": b'{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"}}\n',
    "example.com/widgets/default/b": b"\x00unreadable",
    "apiextensions.k8s.io/customresourcedefinitions/widgets.example.com": b"{}",
    "apiextensions.k8s.io/customresourcedefinitions/gadgets.other.io": b"{}",
    "other.io/gadgets/x": b"{}",
    "namespaces/default": b'{"kind":"Namespace"}',
    "apiext/host": b'{"uid":"u"}\n',
}
COUNTS: Final = {
    "apiext": 1,
    "customresourcedefinitions.apiextensions.k8s.io": 2,
    "gadgets.other.io": 1,
    "namespaces": 1,
    "widgets.example.com": 2,
}


def embedded(folder: Path, prefix: str = "/registry") -> StorageOptions:
    """Return the options of an embedded store."""
    return StorageOptions(data_dir=folder, prefix=prefix)


def whole(options: StorageOptions) -> WholeStore:
    """Return all keys of a store."""
    return WholeStore(store_file(options), options.prefix, options.etcd)


async def fill(folder: Path, values: Mapping[str, bytes] = VALUES, prefix: str = "/registry") -> int:
    """Write keys, relative to the prefix, into an embedded store; return its revision."""
    backend = await SQLiteBackend.open(folder / "apiext.db")
    for key, value in values.items():
        assert (await backend.create(f"{prefix}/{key}", value)).succeeded
    revision = await backend.revision()
    await backend.close()
    return revision


async def content(folder: Path, prefix: str = "/registry") -> dict[str, bytes]:
    """Return the keys of an embedded store, relative to the prefix, with their values."""
    backend = await SQLiteBackend.open(folder / "apiext.db")
    found = await backend.list(f"{prefix}/")
    await backend.close()
    return {key: pair.value for pair in found.items if is_content(key := pair.key.removeprefix(f"{prefix}/"))}


def backed_up(path: Path) -> dict[str, bytes]:
    """Return what a backup holds."""
    with open_backup(path) as opened:
        return dict(_content(opened.pairs.pairs()))


def _content(pairs: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    return ((key, value) for key, value in pairs if is_content(key))
