"""Rescue of unreadable objects: finds them, compares them with the schemas of all versions, and makes them readable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupVersion
from apiext.resources.stored_objects.interface import RescueError
from apiext.resources.stored_objects.schema_match import VersionFits
from apiext.storage import stored_object
from apiext.storage.stored_object import UnreadableObject

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.resources.stored_objects.interface import StoredObjects
    from apiext.resources.stored_objects.schema_match import VersionFit
    from apiext.storage.backend import KeyValue


@dataclass(frozen=True, slots=True)
class Case:
    """An object to rescue; a readable one has no problem."""

    definition: Definition
    object: UnreadableObject
    data: bytes
    fits: Sequence[VersionFit]
    """The versions of the definition, best fit first; empty if the bytes are not a JSON object."""

    @property
    def best(self) -> VersionFit | None:
        """Return the version whose schema accepts the whole object, or None."""
        return self.fits[0] if self.fits and self.fits[0].fits else None


@dataclass(frozen=True, slots=True)
class NewBytes:
    """The bytes that a rewrite would store."""

    data: bytes
    version: str
    encode: bool
    """Whether the object is converted to the storage version when it is written."""
    dropped: Sequence[str]
    """Paths of the lost fields: the version, or the storage version without a webhook, does not have them."""


async def unreadable(objects: StoredObjects, definition: Definition) -> AsyncGenerator[Case]:
    """Yield the unreadable objects of a definition.

    Raises:
        RescueError: the store or the server does not answer.
    """
    fits = VersionFits(definition)
    async for found in objects.unreadable(definition):
        pair = await objects.get(definition, found.key)
        # the object was rewritten since: `found` does not describe it
        if pair is not None and pair.revision == found.revision:
            yield Case(definition, found, pair.value, _fits(fits, pair.value))


async def unconvertible(objects: StoredObjects, definition: Definition) -> AsyncGenerator[Case]:
    """Yield the objects of a definition that its webhook refuses to convert.

    Raises:
        RescueError: there is no server, or it does not answer.
    """
    fits = VersionFits(definition)
    async for key, problem in objects.unconvertible(definition):
        pair = await objects.get(definition, key)
        if pair is not None:
            yield _case(definition, fits, key, pair, problem)


async def inspect(objects: StoredObjects, definition: Definition, key: str) -> Case:
    """Return one object of a definition, readable or not.

    Raises:
        RescueError: there is no such object, or the store or the server does not answer.
    """
    pair = await objects.get(definition, key)
    if pair is None:
        raise RescueError(f"{definition.name} has no object {key}")
    return _case(definition, VersionFits(definition), key, pair, await objects.problem(definition, key))


async def mislabelled(objects: StoredObjects, definition: Definition) -> AsyncGenerator[Case]:
    """Yield the readable objects that fit another version than the one in their bytes.

    Raises:
        RescueError: the store or the server does not answer.
    """
    versions = VersionFits(definition)
    async for key, pair in objects.all(definition):
        label = stored_object.api_version(pair.value)
        fits = _fits(versions, pair.value)
        own = next((fit for fit in fits[1:] if label == f"{definition.group}/{fit.version}"), None)
        if own is not None and fits[0].fits:
            problem = f"has the fields of {fits[0].version} ({own})"
            yield Case(definition, UnreadableObject(key, pair.revision, len(pair.value), label, problem), pair.value, fits)


@dataclass(frozen=True, slots=True)
class Search:
    """A search for one kind of problem."""

    find: Callable[[StoredObjects, Definition], AsyncGenerator[Case]]
    nothing_found: str
    """The message for a search without results."""


SEARCHES: Final[Mapping[str, Search]] = {
    "unreadable": Search(unreadable, "All objects can be read."),
    "mislabelled": Search(mislabelled, "No object has the fields of another version."),
    "unconvertible": Search(unconvertible, "The conversion webhooks refuse no object."),
}


def _case(definition: Definition, fits: VersionFits, key: str, pair: KeyValue, problem: str) -> Case:
    found = UnreadableObject(key, pair.revision, len(pair.value), stored_object.api_version(pair.value), problem)
    return Case(definition, found, pair.value, _fits(fits, pair.value))


def relabelled(case: Case, version: str = "", *, encode: bool = False) -> NewBytes:
    """Return the object of a case, labelled with the given version or else with the version that it fits.

    Kind, name and namespace become those of the definition and the key.

    Raises:
        RescueError: the bytes are not a JSON object, it fits no version, or the definition does not have the version.
    """
    obj = _parsed(case.data)
    if obj is None:
        raise RescueError("the bytes are not a JSON object: export them, repair the file, and rewrite from it")
    return _labelled(case.definition, case.object.key, obj, version or _fitting(case), encode=encode)


def replaced(definition: Definition, key: str, text: bytes, version: str = "", *, encode: bool = False) -> NewBytes:
    """Return the object of a file as stored bytes of a key, labelled with the given version or else with its own.

    Raises:
        RescueError: the file is not a JSON object, or the definition does not have the version.
    """
    obj = _parsed(text)
    if obj is None:
        raise RescueError("the file is not a JSON object")
    return _labelled(definition, key, obj, version or str(obj.get("apiVersion", "")).rpartition("/")[2], encode=encode)


def _fitting(case: Case) -> str:
    if case.best is None:
        problems = "; ".join(map(str, case.fits)) or "schemas of built-in kinds are not known here"
        raise RescueError(f"it fits no version exactly ({problems}): choose one with --version")
    return case.best.version


def _labelled(definition: Definition, key: str, obj: Object, version: str, *, encode: bool) -> NewBytes:
    if definition.version(version) is None:
        names = ", ".join(one.name for one in definition.versions)
        raise RescueError(f"{definition.name} has no version {version!r}, only {names}")
    namespace, _, name = key.rpartition("/")
    given = obj.get("metadata")
    metadata = {**(given if isinstance(given, dict) else {}), "name": name} | ({"namespace": namespace} if namespace else {})
    metadata.pop("resourceVersion", None)
    labelled = obj | {"apiVersion": str(GroupVersion(definition.group, version)), "kind": definition.names.kind, "metadata": metadata}
    passed = {version}
    if encode and definition.conversion_strategy == "None":
        passed.add(definition.storage_version.name)
    dropped = {path for fit in VersionFits(definition).of(labelled) if fit.version in passed for path in fit.unknown}
    return NewBytes(json_codec.dumps(labelled) + b"\n", version, encode, sorted(dropped))


def _fits(versions: VersionFits, data: bytes) -> Sequence[VersionFit]:
    obj = _parsed(data)
    return [] if obj is None else versions.of(obj)


def _parsed(data: bytes) -> Object | None:
    try:
        obj = stored_object.loads(data)
    except (ValueError, RecursionError):
        return None
    return obj if isinstance(obj, dict) else None
