"""Stores with recorded objects."""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

from apiext.resources.definitions.definition import Definition
from apiext.tools.places import Access, open_source
from apiext.tools.releases.interface import SourceObject
from apiext.tools.replay.server_process import STORE_FILE
from apiext.tools.replay.store_filling import FilledStore, fill_store
from tests.support.builders.plans import NAME, created, custom, shaped

DEFINITION = created(shaped("v1", "a", storage=True), shaped("v2", "a"))


class _Objects:
    """Implements ObjectSource over a list."""

    origin = "a list"

    def __init__(self, *objects: SourceObject) -> None:
        self._objects = objects

    async def count(self, definition: Definition) -> int | None:
        return len(self._objects)

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        yield self._objects

    async def close(self) -> None:
        pass


async def _fill(folder: Path, *objects: SourceObject) -> FilledStore:
    return await fill_store(folder / STORE_FILE, [DEFINITION], _Objects(*objects), lambda *_: None)


async def _stored(folder: Path) -> tuple[Definition, dict[str, Any]]:
    source = await open_source(str(folder), Access())
    try:
        definition = (await source.release()).definitions[NAME]
        return definition, {one.key: one.object async for page in source.pages(definition) for one in page}
    finally:
        await source.close()


async def test_keeps_objects(tmp_path: Path) -> None:
    """Keep uid, managers and stored version of objects; list the version in the definition's status."""
    managers = [{"manager": "x", "operation": "Apply"}]
    recorded = custom("w", "v2", managers=managers, a="x")
    recorded["metadata"]["resourceVersion"] = "7"

    filled = await _fill(tmp_path, SourceObject("default/w", recorded, is_stored=True))

    definition, objects = await _stored(tmp_path)
    (found,) = objects.values()
    assert filled.keys == {NAME: ["default/w"]}
    assert (found["apiVersion"], found["metadata"]["uid"], found["metadata"]["managedFields"]) == ("example.com/v2", "uid-of-w", managers)
    assert "resourceVersion" not in found["metadata"]
    assert definition.head["status"]["storedVersions"] == ["v1", "v2"]


async def test_completes_manifests(tmp_path: Path) -> None:
    """Give an object that no server has written a uid."""
    await _fill(
        tmp_path,
        SourceObject("default/w", {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "default"}}),
    )

    assert (await _stored(tmp_path))[1]["default/w"]["metadata"]["uid"]


@pytest.mark.parametrize(
    "found,reason",
    [
        (SourceObject("default/w", {}, is_stored=True, problem="is encrypted"), "is encrypted"),
        (SourceObject("default/w", custom("w", "v9")), "its apiVersion example.com/v9 is none of widgets.example.com"),
        (SourceObject("w", custom("w")), "its name or namespace does not fit the definition"),
    ],
)
async def test_leaves_out(tmp_path: Path, found: SourceObject, reason: str) -> None:
    """Leave out what no server could read, and say why."""
    filled = await _fill(tmp_path, found)

    assert filled.left_out == [f"{NAME} {found.key}: {reason}"]
    assert (await _stored(tmp_path))[1] == {}
