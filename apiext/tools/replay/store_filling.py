"""Writes recorded definitions and objects to a new store, as bytes: uids, managedFields and stored versions stay."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final
from uuid import NAMESPACE_DNS, uuid5

from apiext.base.meta.encoding import json_codec
from apiext.resources.evaluation.definition_creation import parse_definition
from apiext.resources.stored_objects.offline import new_store
from apiext.tools.releases.object_pages import object_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.stored_objects.offline import NewStore
    from apiext.tools.releases.interface import ObjectSource, SourceObject

_CREATED: Final = "1970-01-01T00:00:00Z"


class FilledStore:
    """What a store has been filled with."""

    def __init__(self) -> None:
        self.keys: dict[str, list[str]] = {}
        """The keys of the objects by definition, in order."""
        self.left_out: list[str] = []
        """Objects that could not be written, and why."""


async def fill_store(
    path: Path, definitions: Sequence[Definition], source: ObjectSource, on_progress: Callable[[str, int, int | None], None]
) -> FilledStore:
    """Write definitions with their objects to a new store.

    Raises:
        SourceError: the objects cannot be read.
        BackendError: the store cannot be written.
    """
    filled = FilledStore()
    async with new_store(path) as store:
        for definition in definitions:
            versions = await _fill(store, definition, source, filled, on_progress)
            await store.define(_listing(definition, versions))
    return filled


async def _fill(
    store: NewStore,
    definition: Definition,
    source: ObjectSource,
    filled: FilledStore,
    on_progress: Callable[[str, int, int | None], None],
) -> list[str]:
    """Write the objects of a definition. Return the versions that they are stored in."""
    keys = filled.keys.setdefault(definition.name, [])
    versions: dict[str, None] = {}
    labels = {f"{definition.group}/{version.name}": version.name for version in definition.versions}
    total = await source.count(definition)
    async with aclosing(source.pages(definition)) as pages:
        async for page in pages:
            written = []
            for found in page:
                problem = _problem(found, definition, labels)
                if problem:
                    filled.left_out.append(f"{definition.name} {found.key}: {problem}")
                    continue
                versions[labels[found.object["apiVersion"]]] = None
                keys.append(found.key)
                written.append(store.add(definition, found.key, json_codec.dumps(_stored(found.object))))
            await asyncio.gather(*written)
            on_progress(f"load {definition.name}", len(keys), total)
    keys.sort()
    return list(versions)


def _problem(found: SourceObject, definition: Definition, labels: dict[str, str]) -> str:
    """Return why an object cannot be stored, "" if it can."""
    if found.problem:
        return found.problem
    if found.object.get("apiVersion") not in labels:
        return f"its apiVersion {found.object.get('apiVersion')} is none of {definition.name}"
    if object_key(found.object) != found.key or ("/" in found.key) != definition.namespaced:
        return "its name or namespace does not fit the definition"
    return ""


def _stored(obj: Object) -> Object:
    """Return an object in its stored form; one that no server has written gets a uid."""
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    metadata.setdefault("uid", str(uuid5(NAMESPACE_DNS, f"{obj['kind']} {object_key(obj)}")))
    metadata.setdefault("creationTimestamp", _CREATED)
    metadata.setdefault("generation", 1)
    return obj | {"metadata": metadata}


def _listing(definition: Definition, versions: Sequence[str]) -> Definition:
    """Return a definition whose status.storedVersions has all versions of the objects."""
    crd = definition.object
    stored = list(dict.fromkeys([*(crd["status"]["storedVersions"] or ()), *versions]))
    return parse_definition(crd | {"status": crd["status"] | {"storedVersions": stored}})
