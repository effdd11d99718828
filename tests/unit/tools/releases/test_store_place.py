"""The places of stores."""

from pathlib import Path

import pytest

from apiext.storage.sqlite.backend import SQLiteBackend
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.store_place import EtcdAccess, is_data_dir, is_etcd, is_snapshot, open_store
from tests.support.builders.crds import crd, definition


async def test_opens_a_data_directory(tmp_path: Path) -> None:
    """Read the store of a data directory, also while a server uses it."""
    backend = await SQLiteBackend.open(tmp_path / "apiext.db")
    await backend.create("/registry/example.com/widgets/default/a", b'{"apiVersion":"example.com/v1"}')
    source = await open_store(str(tmp_path), EtcdAccess())

    assert source.origin == f"data directory {tmp_path}"
    assert [one.key async for page in source.pages(definition(crd())) for one in page] == ["default/a"]
    await source.close()
    await backend.close()


async def test_refuses_what_is_no_store(tmp_path: Path) -> None:
    """Say why a path or an etcd cannot be read."""
    for text, problem in (
        (str(tmp_path), "has no apiext.db"),
        (f"{tmp_path}/x", "is no store"),
        ("http://", "must be http://host:port"),
    ):
        with pytest.raises(SourceError, match=problem):
            await open_store(text, EtcdAccess())


async def test_needs_the_tools_of_etcd(tmp_path: Path) -> None:
    """Say which program is missing to read a snapshot, and where."""
    snapshot = tmp_path / "snapshot.db"
    snapshot.write_bytes(bytes(16) + b"\xed\xda\x0c\xed")
    with pytest.raises(SourceError, match=f"^a snapshot is read with etcd's own tools, and {tmp_path} has no etcdutl: install it"):
        await open_store(str(snapshot), EtcdAccess(tools=tmp_path))


def test_recognizes_stores(tmp_path: Path) -> None:
    """Recognize URLs, data directories and databases of etcd."""
    assert [is_etcd(text) for text in ("http://a", "https://a", "a:1")] == [True, True, False]
    assert not is_data_dir(tmp_path)
    assert not is_snapshot(b"")
