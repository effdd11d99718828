"""The rescue of unreadable objects in a store."""

import json
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from apiext.resources.definitions.codec import CRDCodec
from apiext.resources.definitions.definition import Definition
from apiext.resources.stored_objects.builtin_definitions import is_builtin
from apiext.resources.stored_objects.interface import RescueError
from apiext.resources.stored_objects.offline import OfflineObjects
from apiext.storage.factory import StoreFactory
from apiext.tools.rescue import rescue
from tests.support.builders.crds import stored_crd, version
from tests.support.servers.memory_backend import MemoryBackend

PREFIX: Final = "/registry/example.com/widgets/"


def _schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


OLD: Final = version("v1beta1", schema=_schema(cores={"type": "integer"}, disk={"type": "string"}))
NEW: Final = version("v1", storage=True, schema=_schema(cpu={"type": "object", "properties": {"cores": {"type": "integer"}}}))
CRD: Final = stored_crd(versions=[OLD, NEW])


def _widget(api_version: str = "example.com/v1", kind: str = "Widget", **spec: Any) -> bytes:
    return json.dumps({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "default"}, "spec": spec}).encode()


GARBAGE: Final = {
    "default/broken": b'{"apiVersion": ',
    "default/gone": _widget("example.com/v9", cores=1),
    "default/sealed": b"k8s:enc:aescbc:v1:key:xxxx",
    "other/none": b'{"kind":"Widget","metadata":{}}',
}


@pytest.fixture
async def objects(backend: MemoryBackend) -> AsyncIterator[OfflineObjects]:
    """Yield the access to a store with a definition, unreadable objects and a readable one."""
    await backend.create("/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com", CRDCodec().encode(CRD).stored)
    await backend.create("/registry/apiextensions.k8s.io/customresourcedefinitions/broken.example.com", b"x")
    for key, data in GARBAGE.items():
        await backend.create(PREFIX + key, data)
    await backend.create(f"{PREFIX}default/good", _widget(cpu={"cores": 1}))
    found = OfflineObjects(StoreFactory(backend, watch_cache=False))
    yield found
    await found.close()


async def _definition(objects: OfflineObjects) -> Definition:
    return (await objects.definitions())[0]


async def _case(objects: OfflineObjects, key: str) -> rescue.Case:
    return await rescue.inspect(objects, await _definition(objects), key)


async def test_finds_unreadable_objects(objects: OfflineObjects) -> None:
    """Find all objects that cannot be read, with the version that their bytes name."""
    found = [case.object async for case in rescue.unreadable(objects, await _definition(objects))]

    assert {one.key: one.api_version for one in found} == dict.fromkeys(GARBAGE, "") | {"default/gone": "example.com/v9"}
    assert [one.size for one in found] == [len(data) for data in GARBAGE.values()]
    assert all(one.problem for one in found)


async def test_finds_a_single_object(objects: OfflineObjects) -> None:
    """Tell why the named object cannot be read, that it can, or that it does not exist."""
    assert "invalid group/version" in (await _case(objects, "default/gone")).object.problem
    assert (await _case(objects, "default/good")).object.problem == ""
    with pytest.raises(RescueError, match="has no object default/missing"):
        await _case(objects, "default/missing")


async def test_names_the_version_that_fits(objects: OfflineObjects) -> None:
    """Compare the fields of an object with each version, and count unknown ones."""
    case = await _case(objects, "default/gone")

    assert case.best is not None
    assert [(fit.version, fit.unknown) for fit in case.fits] == [("v1beta1", ()), ("v1", ("spec.cores",))]
    assert str(case.fits[1]) == "v1: 1 unknown"


async def test_counts_invalid_values(objects: OfflineObjects, backend: MemoryBackend) -> None:
    """Report values of the wrong type as invalid."""
    await backend.create(f"{PREFIX}default/typed", _widget("example.com/v8", cores="many", disk="1"))
    case = await _case(objects, "default/typed")

    assert [str(fit) for fit in case.fits] == ["v1beta1: 1 invalid", "v1: 2 unknown"]
    with pytest.raises(RescueError, match="fits no version exactly"):
        rescue.relabelled(case)


async def test_relabels(objects: OfflineObjects, backend: MemoryBackend) -> None:
    """Label an object with the version that fits, under the name of its key; it can be read then."""
    case = await _case(objects, "default/gone")
    new = rescue.relabelled(case)
    await objects.replace(case.definition, case.object.key, new.data, revision=case.object.revision, encode=False)
    pair, _ = await backend.get(f"{PREFIX}default/gone")

    assert (new.version, new.dropped) == ("v1beta1", [])
    assert pair is not None
    assert json.loads(pair.value)["metadata"] == {"name": "gone", "namespace": "default"}
    assert await objects.problem(case.definition, "default/gone") == ""


async def test_encodes_in_the_storage_version(objects: OfflineObjects, backend: MemoryBackend) -> None:
    """Store an object in the storage version on demand."""
    case = await _case(objects, "other/none")
    new = rescue.relabelled(case, "v1beta1", encode=True)
    await objects.replace(case.definition, case.object.key, new.data, revision=case.object.revision, encode=new.encode)
    pair, _ = await backend.get(f"{PREFIX}other/none")

    assert pair is not None
    assert json.loads(pair.value)["apiVersion"] == "example.com/v1"


async def test_names_the_fields_that_an_encoding_drops(objects: OfflineObjects) -> None:
    """Name the fields that the storage version does not have: without a webhook, a conversion drops them."""
    case = await _case(objects, "default/gone")

    assert rescue.relabelled(case).dropped == []
    assert rescue.relabelled(case, encode=True).dropped == ["spec.cores"]


async def test_refuses_versions_that_do_not_exist(objects: OfflineObjects) -> None:
    """Refuse to label an object with a version that the definition lacks, or bytes that are no object."""
    with pytest.raises(RescueError, match="has no version 'v7', only v1beta1, v1"):
        rescue.relabelled(await _case(objects, "default/gone"), "v7")
    with pytest.raises(RescueError, match="not a JSON object"):
        rescue.relabelled(await _case(objects, "default/broken"), "v1")


async def test_replaces_from_a_file(objects: OfflineObjects) -> None:
    """Store a repaired file in the version that it names; report the fields that this version drops."""
    case = await _case(objects, "default/broken")
    new = rescue.replaced(case.definition, case.object.key, _widget(cores=2))

    assert (new.version, new.dropped) == ("v1", ["spec.cores"])
    assert json.loads(new.data)["metadata"]["name"] == "broken"


async def test_writes_only_what_was_seen(objects: OfflineObjects, backend: MemoryBackend) -> None:
    """Refuse to write or delete an object that was written meanwhile, is gone, or can be read."""
    case = await _case(objects, "default/gone")
    await backend.update(f"{PREFIX}default/gone", GARBAGE["default/gone"] + b" ", expected=case.object.revision)

    with pytest.raises(RescueError, match="has revision"):
        await objects.delete(case.definition, "default/gone", revision=case.object.revision)
    with pytest.raises(RescueError, match="has revision"):
        await objects.replace(case.definition, "default/gone", _widget(), revision=case.object.revision, encode=False)
    with pytest.raises(RescueError, match="not found"):
        await objects.delete(case.definition, "default/missing", revision=1)
    with pytest.raises(RescueError, match="can be read"):
        await objects.delete(case.definition, "default/good", revision=1)
    with pytest.raises(RescueError, match="not decodable"):
        await objects.replace(case.definition, "default/gone", b"{}", revision=case.object.revision, encode=False)


async def test_deletes(objects: OfflineObjects) -> None:
    """Delete unreadable objects."""
    definition = await _definition(objects)
    for case in [case async for case in rescue.unreadable(objects, definition)]:
        await objects.delete(definition, case.object.key, revision=case.object.revision)

    assert [key async for key, _ in objects.all(definition)] == ["default/good"]


async def test_finds_unreadable_built_in_objects(objects: OfflineObjects, backend: MemoryBackend) -> None:
    """Find unreadable definitions and namespaces, replace one from a file, and delete one."""
    await backend.create("/registry/namespaces/bad", b"x")
    kinds = {definition.name: definition for definition in await objects.definitions() if is_builtin(definition)}
    crds, namespaces = kinds["customresourcedefinitions.apiextensions.k8s.io"], kinds["namespaces"]
    found = {name: [case async for case in rescue.unreadable(objects, kind)] for name, kind in kinds.items()}
    (broken,), (bad,) = found[crds.name], found["namespaces"]

    assert {name: len(cases) for name, cases in found.items() if cases} == {crds.name: 1, "namespaces": 1}
    assert (broken.object.key, broken.fits, bad.object.key) == ("broken.example.com", [], "bad")
    new = rescue.replaced(crds, broken.object.key, CRDCodec().encode(CRD).stored)
    await objects.replace(crds, broken.object.key, new.data, revision=broken.object.revision, encode=False)
    await objects.delete(namespaces, bad.object.key, revision=bad.object.revision)
    assert [definition.name for definition in await objects.definitions() if not is_builtin(definition)] == [
        "broken.example.com",
        "widgets.example.com",
    ]
    assert (await backend.get("/registry/namespaces/bad"))[0] is None


async def test_relabels_built_in_objects(objects: OfflineObjects, backend: MemoryBackend) -> None:
    """Label an object of a built-in kind with a version that is named; none fits by itself."""
    await backend.create("/registry/namespaces/bad", b'{"apiVersion":"v7","kind":"Namespace"}')
    namespaces = next(definition for definition in await objects.definitions() if definition.name == "namespaces")
    case = await rescue.inspect(objects, namespaces, "bad")

    assert json.loads(rescue.relabelled(case, "v1").data)["apiVersion"] == "v1"
    with pytest.raises(RescueError, match="schemas of built-in kinds are not known here"):
        rescue.relabelled(case)


async def test_finds_mislabelled_objects(objects: OfflineObjects, backend: MemoryBackend) -> None:
    """Find readable objects that have the fields of another version than their bytes name."""
    await backend.create(f"{PREFIX}default/shaped", _widget(cores=4))
    (case,) = [case async for case in rescue.mislabelled(objects, await _definition(objects))]

    assert (case.object.key, case.object.problem) == ("default/shaped", "has the fields of v1beta1 (v1: 1 unknown)")
    assert rescue.relabelled(case).version == "v1beta1"


async def test_reports_a_store_that_does_not_answer(objects: OfflineObjects, backend: MemoryBackend) -> None:
    """Raise an error of one line if the backend fails."""
    definition = await _definition(objects)
    backend.broken = True

    with pytest.raises(RescueError, match="the backend is broken"):
        await objects.definitions()
    with pytest.raises(RescueError, match="the backend is broken"):
        await objects.get(definition, "default/gone")
