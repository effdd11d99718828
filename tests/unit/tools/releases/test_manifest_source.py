"""Definitions and objects in manifests."""

from contextlib import aclosing
from pathlib import Path

import yaml

from apiext.resources.definitions.definition import Definition
from apiext.tools.releases.interface import SourceObject, WholeSource
from apiext.tools.releases.manifest_source import ManifestSource
from tests.support.builders.crds import crd, definition, widget


async def _objects(source: WholeSource, of: Definition) -> list[SourceObject]:
    async with aclosing(source.pages(of)) as pages:
        return [found async for page in pages for found in page]


async def test_reads_objects_of_a_kind(tmp_path: Path) -> None:
    """Read objects by group and kind in any version, in the order of their keys, the last one of a key."""
    documents = [
        widget("b", version="v2", metadata={"namespace": "x"}, size="old"),
        widget("b", metadata={"namespace": "x"}, size="new"),
        widget("a", metadata={"namespace": "y"}),
        widget("c"),
        widget("other", group="example.org"),
        widget("") | {"metadata": {}},
        crd(),
    ]
    (tmp_path / "all.yaml").write_text(yaml.dump_all(documents))
    source = ManifestSource([tmp_path])
    of = definition(crd())

    assert await source.count(of) == 3
    found = await _objects(source, of)
    assert [(one.key, one.object["apiVersion"], one.is_stored) for one in found] == [
        ("default/c", "example.com/v1", False),
        ("x/b", "example.com/v1", False),
        ("y/a", "example.com/v1", False),
    ]
    assert found[0].object["metadata"]["namespace"] == "default"
    assert found[1].object["spec"] == {"size": "new"}
    assert source.remarks == [f"{tmp_path}/all.yaml: document 6: left out: metadata.name is missing"]
    await source.close()


async def test_prefers_versions_that_are_there(tmp_path: Path) -> None:
    """Give an object in the last version of the files that its definition has, whichever one comes last, or else in the last one."""
    documents = [
        widget("a", size="old"),
        widget("a", size="new"),
        widget("a", version="v2"),
        widget("b", version="v3"),
        widget("b", version="v2"),
    ]
    (tmp_path / "all.yaml").write_text(yaml.dump_all(documents))
    source = ManifestSource([tmp_path])
    of = definition(crd())

    found = await _objects(source, of)
    assert [(one.key, one.object["apiVersion"]) for one in found] == [("default/a", "example.com/v1"), ("default/b", "example.com/v2")]
    assert found[0].object["spec"] == {"size": "new"}
    assert await source.count(of) == 2
    await source.close()


async def test_counts_objects_by_kind(tmp_path: Path) -> None:
    """Count the objects that were read, of all groups and kinds."""
    documents = [widget("a"), widget("a", version="v2"), widget("b"), widget("c") | {"kind": "Wigdet"}, widget("d") | {"apiVersion": "v1"}]
    (tmp_path / "all.yaml").write_text(yaml.dump_all(documents))
    source = ManifestSource([tmp_path])

    assert source.kinds() == {}
    await source.count(definition(crd()))
    assert {str(kind): number for kind, number in source.kinds().items()} == {"Widget": 1, "Widget.example.com": 2, "Wigdet.example.com": 1}
    await source.close()


async def test_reads_cluster_scoped_objects(tmp_path: Path) -> None:
    """Give objects of a cluster-scoped definition no namespace."""
    (tmp_path / "a.yaml").write_text(yaml.dump(widget("a")))
    source = ManifestSource([tmp_path])

    assert [(one.key, one.object["metadata"]) for one in await _objects(source, definition(crd(scope="Cluster")))] == [("a", {"name": "a"})]
    assert await _objects(source, definition(crd("gadgets", kind="Gadget"))) == []
    await source.close()


async def test_pages_are_limited(tmp_path: Path) -> None:
    """Yield pages of at most 500 objects."""
    (tmp_path / "a.json").write_text(yaml.dump({"apiVersion": "v1", "kind": "List", "items": [widget(f"w{i:04}") for i in range(501)]}))
    source = ManifestSource([tmp_path])

    assert [len(page) async for page in source.pages(definition(crd()))] == [500, 1]
    await source.close()


async def test_has_definitions(tmp_path: Path) -> None:
    """Return the definitions in the same files, all or the named ones."""
    (tmp_path / "a.yaml").write_text(yaml.dump_all([crd(), crd("gadgets", kind="Gadget")]))
    source = ManifestSource([tmp_path])

    assert list((await source.release()).definitions) == ["gadgets.example.com", "widgets.example.com"]
    assert list((await source.release(["widgets.example.com", "x"])).definitions) == ["widgets.example.com"]
    await source.close()
