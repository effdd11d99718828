"""Compares what the server reads with its last reads, object by object and version by version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.resources.conversion.rules.model import CARRIED
from apiext.resources.evaluation.compiled_definition import CompiledDefinition
from apiext.resources.evaluation.fields import FieldDifference, What, differences, same_content, text_differences
from apiext.tools.releases.object_pages import object_key
from apiext.tools.releases.object_spool import ObjectSpool
from apiext.tools.replay.outcome import ProblemKind
from apiext.tools.replay.server_client import MANAGER, RefusedError, for_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.replay.observations import Observations
    from apiext.tools.replay.server_client import ServerClient

LABEL: Final = "apiext-replay"
"""The label that updates set. It does not count as a difference."""
_IDENTITY: Final = ("uid", "creationTimestamp", "deletionTimestamp", "finalizers", "ownerReferences")
BY_READS: Final = {What.MISSING: ProblemKind.PRUNED, What.ADDED: ProblemKind.DEFAULTED, What.CHANGED: ProblemKind.CHANGED}
BY_WRITES: Final = {What.MISSING: ProblemKind.LOST, What.ADDED: ProblemKind.GAINED, What.CHANGED: ProblemKind.ALTERED}
_TEXTS: Final = {
    ProblemKind.PRUNED: "a read no longer gives the field",
    ProblemKind.DEFAULTED: "a read gives the field, which it did not give before",
    ProblemKind.CHANGED: "a read gives another value",
    ProblemKind.LOST: "a label set at {} drops the field",
    ProblemKind.ALTERED: "a label set at {} changes the field",
    ProblemKind.GAINED: "a label set at {} adds the field",
}


_Owner = tuple[str, str, str]


def lost_owners(before: Object, after: Object) -> Iterator[tuple[str, str]]:
    """Yield the managers that have lost fields, with the general path of each field; "" if a manager has lost all.

    The replay's own updates do not count.
    """
    earlier, later = before["metadata"].get("managedFields") or (), after["metadata"].get("managedFields") or ()
    if earlier == later:
        return
    owned, kept = _fields(earlier), _fields(later)
    for owner, fields in owned.items():
        if owner not in kept:
            yield owner[0], ""
        else:
            yield from ((owner[0], path) for path in dict.fromkeys(_lost(fields, kept[owner], "")))


def _fields(entries: Any) -> dict[_Owner, dict[str, Any]]:
    """Return the fields of each manager, those of several versions together."""
    found: dict[_Owner, dict[str, Any]] = {}
    for entry in entries:
        if entry.get("manager") == MANAGER:
            continue
        owner = entry.get("manager", ""), entry.get("operation", ""), entry.get("subresource", "")
        found[owner] = _union(found.get(owner, {}), entry.get("fieldsV1") or {})
    return found


def _union(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    return {**one, **{name: _union(one.get(name, {}), below) for name, below in other.items()}}


def _lost(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, below in before.items():
        here = _below(path, name)
        if name not in after:
            yield here
        else:
            yield from _lost(below, after[name], here)


def _below(path: str, name: str) -> str:
    """Return the general path of an element of a field set: f:NAME is a member, `.` the value itself, all others are items."""
    if name == ".":
        return path
    if not name.startswith("f:"):
        return f"{path}[]"
    return f"{path}.{name[2:]}" if path else name[2:]


class KnownReads:
    """The last read of each object in each version, on disk."""

    def __init__(self, server: ServerClient, keys: Mapping[str, Sequence[str]]) -> None:
        self._server = server
        self._keys = keys
        self._spool = ObjectSpool()

    async def check(
        self,
        definition: Definition,
        observations: Observations,
        on_object: Callable[[int], None],
        *,
        written: Callable[[str], str] = lambda _: "",
    ) -> None:
        """Read all objects in all served versions, add what differs from the last reads, and keep what was read.

        `written` returns the version in which a label of an object was set since the last reads; "" for none.
        """
        owners = definition.storage_version.name
        names = [version.name for version in definition.served_versions]
        for name in names:
            reading = _Reading(definition, name, observations, written, checks_owners=name == (owners if owners in names else names[0]))
            await self._version(reading, definition, on_object)

    def last(self, definition: Definition, version: str) -> Iterator[tuple[str, Object]]:
        """Yield the last reads of objects in a version, with their keys."""
        for key, data in self._spool.items(_collection(definition, version)):
            yield key, json_codec.loads(data)

    def close(self) -> None:
        """Delete the reads."""
        self._spool.close()

    async def _version(self, reading: _Reading, definition: Definition, on_object: Callable[[int], None]) -> None:
        collection = _collection(definition, reading.version)
        changed: list[tuple[str, bytes]] = []
        known = _Known(self._spool.items(collection))
        missing = set(self._keys[definition.name])
        try:
            async for page in self._server.pages(definition, reading.version):
                for item in page:
                    key = object_key(item)
                    missing.discard(key)
                    before = known.at(key)
                    if reading.differs(key, before, item):
                        changed.append((key, json_codec.dumps(item, sort_keys=False)))
                on_object(len(page))
        except RefusedError:
            missing = set(await self._one_by_one(reading, definition, changed))
        else:
            for key in sorted(missing):
                reading.observations.add(ProblemKind.VANISHED, reading.version, "", "a list no longer has the object", key)
        del known
        for key, data in changed:
            self._spool.add(collection, key, data)

    async def _one_by_one(self, reading: _Reading, definition: Definition, changed: list[tuple[str, bytes]]) -> list[str]:
        """Get each object, since a list fails. Return the keys of those that cannot be read."""
        before = dict(self._spool.items(_collection(definition, reading.version)))
        failed: dict[str, str] = {}
        found: dict[str, Object] = {}

        async def get(key: str) -> None:
            try:
                found[key] = await self._server.get(definition, reading.version, key)
            except RefusedError as error:
                failed[key] = str(error)

        await for_each(self._keys[definition.name], get)
        changed.clear()
        for key, item in sorted(found.items()):
            if reading.differs(key, json_codec.loads(before[key]) if key in before else None, item):
                changed.append((key, json_codec.dumps(item, sort_keys=False)))
        for key, message in sorted(failed.items()):
            text = f"a read fails: {message.replace(key.rpartition('/')[2], 'NAME')}"
            reading.observations.add(ProblemKind.UNREADABLE, reading.version, "", text, key)
        return list(failed)


class _Known:
    """Finds the last read of each object, asked for in the order of the keys."""

    def __init__(self, items: Iterator[tuple[str, bytes]]) -> None:
        self._items = items
        self._next = next(items, None)

    def at(self, key: str) -> Object | None:
        while self._next is not None and self._next[0] < key:
            self._next = next(self._items, None)
        if self._next is None or self._next[0] != key:
            return None
        found: Object = json_codec.loads(self._next[1])
        return found


class _Reading:
    """The comparison of the reads in one version."""

    def __init__(
        self, definition: Definition, version: str, observations: Observations, written: Callable[[str], str], *, checks_owners: bool
    ) -> None:
        self.version = version
        self.observations = observations
        self._written = written
        self._checks_owners = checks_owners
        self._compiled = CompiledDefinition(definition)

    def differs(self, key: str, before: Object | None, after: Object) -> bool:
        """Add the differences between two reads of an object. Return whether there are any, or no read before."""
        if before is None:
            return True
        writer = self._written(key)
        found = self._differences(before, after)
        for difference in found:
            kind = (BY_WRITES if writer else BY_READS)[difference.what]
            self.observations.add(kind, writer or self.version, difference.path, _TEXTS[kind].format(writer), key)
        lost = list(lost_owners(before, after)) if self._checks_owners else []
        for manager, path in lost:
            self.observations.add(ProblemKind.OWNER, self.version, path, f"{manager} no longer owns {path or 'any field'}", key)
        return bool(found or lost) or before["metadata"].get("managedFields") != after["metadata"].get("managedFields")

    def _differences(self, before: Object, after: Object) -> list[FieldDifference]:
        one, other = without_own(before), without_own(after)
        found = [] if same_content(one, other) else differences(one, other, self._compiled.version(self.version).schema.structural)
        found += text_differences(one, other)
        added = [
            FieldDifference(What.ADDED, one.path, None, one.before) for one in text_differences(other, one) if one.what is What.MISSING
        ]
        metadata = one["metadata"], other["metadata"]
        changed = [
            FieldDifference(What.CHANGED, f"metadata.{name}") for name in _IDENTITY if metadata[0].get(name) != metadata[1].get(name)
        ]
        return [*found, *added, *changed]


def without_own(obj: Object) -> Object:
    """Return an object without the label of the replay, and without what rules carry for other versions."""
    metadata: dict[str, Any] = obj["metadata"]
    for part, own in (("labels", LABEL), ("annotations", CARRIED)):
        texts = metadata.get(part)
        if texts and own in texts:
            metadata = metadata | {part: {name: text for name, text in texts.items() if name != own}}
    return obj if metadata is obj["metadata"] else obj | {"metadata": metadata}


def _collection(definition: Definition, version: str) -> str:
    return f"{definition.name} {version}"
