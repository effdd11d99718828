"""The kinds of places, told apart by their text."""

import gzip
import json
from pathlib import Path

import pytest
import yaml

from apiext.tools.places import Access, PlaceKind, open_release, open_source, place_of
from apiext.tools.releases.interface import SourceError
from tests.support.builders.crds import crd

CONFIG = {"apiVersion": "v1", "kind": "Config", "clusters": [], "contexts": []}


async def test_tells_places_apart(tmp_path: Path) -> None:
    """Recognize each kind by the text or by the content of the file."""
    for name, content in {
        "yaml": yaml.dump(CONFIG).encode(),
        "json": json.dumps(CONFIG).encode(),
        "crd.yaml": yaml.dump(crd("widgets", kind="Config")).encode(),
        "archive.tar.gz": gzip.compress(b""),
        "snapshot.db": bytes(16) + b"\xed\xda\x0c\xed" + bytes(100),
        "data/apiext.db": b"",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    places = {name: (await place_of(f"{tmp_path}/{name}")).kind for name in ("yaml", "json", "crd.yaml", "archive.tar.gz", "snapshot.db")}

    assert places == {
        "yaml": PlaceKind.CLUSTER,
        "json": PlaceKind.CLUSTER,
        "crd.yaml": PlaceKind.FILES,
        "archive.tar.gz": PlaceKind.ARCHIVE,
        "snapshot.db": PlaceKind.STORE,
    }
    assert (await place_of(str(tmp_path))).kind is PlaceKind.FILES
    assert (await place_of(f"{tmp_path}/data")).kind is PlaceKind.STORE
    assert (await place_of("kubeconfig")).kind is PlaceKind.CLUSTER
    assert (await place_of("http://a:1,http://b:1")).kind is PlaceKind.STORE


async def test_opens_files(tmp_path: Path) -> None:
    """Open files as a release, and as a source with objects."""
    (tmp_path / "crd.yaml").write_text(yaml.dump(crd()))

    assert list((await open_release(str(tmp_path), Access())).definitions) == ["widgets.example.com"]
    source = await open_source(str(tmp_path), Access())
    assert source.origin == str(tmp_path)
    await source.close()


async def test_reports_what_cannot_be_opened(tmp_path: Path) -> None:
    """Say why an archive, a store or a kubeconfig cannot be opened."""
    for name, content, problem in (
        ("a.gz", gzip.compress(b"x"), "is not a recording"),
        ("cut.gz", gzip.compress(b"x" * 100)[:-9], "is not a recording"),
        ("kubeconfig", yaml.dump(CONFIG).encode(), "contexts has no ''"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(SourceError, match=problem):
            await open_source(str(path), Access())
    (tmp_path / "apiext.db").write_bytes(b"not a store")
    with pytest.raises(SourceError, match="cannot be opened"):
        await open_source(str(tmp_path), Access())
