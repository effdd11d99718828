"""Definitions and objects as a store has them."""

from contextlib import aclosing

import pytest

from apiext.base.meta.encoding import json_codec
from apiext.resources.definitions.codec import CRDCodec
from apiext.resources.stored_objects.offline import OfflineObjects
from apiext.storage import stored_object
from apiext.tools.releases.interface import SourceError, SourceObject
from apiext.tools.releases.store_place import StoreSource
from tests.support.builders.crds import crd, definition, stored_crd, widget
from tests.support.servers.memory_backend import MemoryBackend

PREFIX = "/registry/example.com/widgets/"


async def _nothing() -> None:
    pass


@pytest.fixture
def backend() -> MemoryBackend:
    """Return an empty store."""
    return MemoryBackend()


@pytest.fixture
def source(backend: MemoryBackend) -> StoreSource:
    """Return the source of the store."""
    return StoreSource("store x", OfflineObjects.over(backend, "/registry"), on_close=_nothing)


async def _objects(source: StoreSource) -> list[SourceObject]:
    async with aclosing(source.pages(definition(crd()))) as pages:
        return [found async for page in pages for found in page]


async def test_reads_stored_objects(backend: MemoryBackend, source: StoreSource) -> None:
    """Return objects as they are stored, in JSON or CBOR, and a problem for those that cannot be read."""
    for key, data in {
        "a/json": json_codec.dumps(widget("json", version="v1beta1")),
        "a/cbor": stored_object.cbor(widget("cbor")),
        "a/encrypted": b"k8s:enc:aescbc:v1:key:\x00\xff",
        "a/damaged": b'{"kind":',
        "a/text": b'"x"',
    }.items():
        await backend.create(PREFIX + key, data)
    found = await _objects(source)

    assert await source.count(definition(crd())) == 5
    assert [(one.key, one.object.get("apiVersion"), one.is_stored, one.problem) for one in found] == [
        ("a/cbor", "example.com/v1", True, ""),
        ("a/damaged", None, True, "cannot be parsed: unexpected end of JSON input"),
        ("a/encrypted", None, True, "is encrypted"),
        ("a/json", "example.com/v1beta1", True, ""),
        ("a/text", None, True, "is not an object"),
    ]


async def test_reads_all_pages(backend: MemoryBackend, source: StoreSource) -> None:
    """Read more objects than fit into a page of the store."""
    for index in range(600):
        await backend.create(f"{PREFIX}a/w{index:03}", json_codec.dumps(widget(f"w{index:03}")))

    assert [found.key for found in await _objects(source)] == [f"a/w{index:03}" for index in range(600)]
    async with aclosing(source.pages(definition(crd()))) as pages:
        assert max([len(page) async for page in pages]) <= 500


async def test_reads_definitions(backend: MemoryBackend, source: StoreSource) -> None:
    """Return the stored definitions, all or the named ones."""
    for plural in ("widgets", "gadgets"):
        obj = stored_crd(plural)
        obj["status"]["storedVersions"] = ["v0", "v1"]
        key = f"/registry/apiextensions.k8s.io/customresourcedefinitions/{plural}.example.com"
        await backend.create(key, CRDCodec().encode(obj).data)
    release = await source.release()

    assert (list(release.definitions), release.is_live) == (["gadgets.example.com", "widgets.example.com"], True)
    assert release.definitions["widgets.example.com"].head["status"]["storedVersions"] == ["v0", "v1"]
    assert list((await source.release(["gadgets.example.com"])).definitions) == ["gadgets.example.com"]


async def test_reports_a_store_that_fails(backend: MemoryBackend, source: StoreSource) -> None:
    """Raise SourceError with the store's name."""
    backend.broken = True
    with pytest.raises(SourceError, match=r"^store x: "):
        await _objects(source)
    with pytest.raises(SourceError, match=r"^store x: "):
        await source.count(definition(crd()))
    with pytest.raises(SourceError, match=r"^store x: "):
        await source.release()
