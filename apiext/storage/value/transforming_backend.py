"""A backend that encrypts values, and the opening of a store's encryption."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from apiext.base.meta.builtin_resources import BUILTINS, INTERNAL_V1ALPHA1, BuiltinGroupVersion
from apiext.base.meta.configuration import ConfigurationError
from apiext.base.meta.gvk import GroupResource
from apiext.base.meta.limits import MAX_INLINE_BYTES, MAX_INLINE_RENDERING_BYTES
from apiext.base.scheduling.time_slice import Pace
from apiext.storage import keys
from apiext.storage.backend import (
    Backend,
    BackendEvent,
    Guard,
    KeyValue,
    RangeResult,
    UnreadableValue,
    UntransformableError,
    WatchBatch,
    WriteResult,
)
from apiext.storage.backends.forwarding_backend import ForwardingBackend
from apiext.storage.replicas import server_keys
from apiext.storage.value.configuration import read_encryption_configuration
from apiext.storage.value.encryption import Encryption, kms_providers
from apiext.storage.value.transformer import MissingKeyError, TransformError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from apiext.storage.value.configuration import EncryptionConfiguration
    from apiext.storage.value.kms.plugins import Plugins
    from apiext.storage.value.transformer import Transformer

_MOST_WRITTEN: Final = 64
"""Writes whose objects are remembered: those under way at a time, with 4 MiB at most."""
_MOST_FETCHES: Final = 3
"""Calls of KMS plugins for one value."""


_USUAL: Final = (*BUILTINS, INTERNAL_V1ALPHA1)
"""The built-in kinds that are served without `--builtin-kinds`."""


class ResourceKeys:
    """Splits keys below a prefix: `<prefix>/<group>/<resource>/...`, without the group for kinds of kube-apiserver itself."""

    __slots__ = ("_begin", "_root")

    def __init__(self, prefix: str) -> None:
        self._root = keys.root(prefix)
        self._begin = len(self._root)

    def place(self, key: str) -> str:
        """Return the beginning of a key that says its resource, empty for a key elsewhere."""
        if not key.startswith(self._root):
            return ""
        first = key.find("/", self._begin)
        if "." not in key[self._begin : first] and key[self._begin : first] != "services":
            return key[: first + 1]
        return key[: key.find("/", first + 1) + 1]

    def resource(self, place: str) -> GroupResource | None:
        """Return the resource of a place. Return None for the records of apiext, which are never encrypted."""
        if not place or server_keys.is_record(place[self._begin :]):
            return None
        group, _, resource = place[self._begin : -1].rpartition("/")
        if "." in group:
            return GroupResource(group, resource)
        name = place[self._begin : -1]
        return _groups(_USUAL).get(name) or _all_groups().get(name) or GroupResource("", name)


@cache
def _all_groups() -> Mapping[str, GroupResource]:
    # read with the first key of a kind that few servers have
    from apiext.base.meta.generated.resources import further_resources

    return _groups(further_resources(_USUAL))


@cache
def _groups(builtins: tuple[BuiltinGroupVersion, ...]) -> Mapping[str, GroupResource]:
    """Return built-in resources by their names in keys."""
    found: dict[str, GroupResource] = {}
    for group in builtins:
        for resource in group.resources:
            # events are configured by their first group
            found.setdefault(resource.stored_resource.resource, resource.resource.group_resource)
    return found


@dataclass(slots=True)
class _Opened:
    value: bytes
    stale: bool = False


class TransformingBackend(ForwardingBackend):
    """Implements Backend over another one: writes and reads the values of configured resources through their transformers.

    A value that cannot be decrypted is an UnreadableValue. Values of other resources, and the records of apiext, pass unchanged. Work
    gives way to other tasks in time; a thread transforms large values.
    """

    def __init__(self, backend: Backend, prefix: str, encryption: Encryption) -> None:
        """Encrypt the values below a prefix. Closing this backend closes the given one and the encryption."""
        super().__init__(backend)
        self.encryption = encryption
        self._keys = ResourceKeys(prefix)
        self._transformers: dict[str, Transformer | None] = {}
        self._generation = encryption.generation
        self._written: dict[str, tuple[bytes, bytes]] = {}
        """The stored value and the object of writes whose events have not come: they need no decryption."""

    def _transformer(self, key: str) -> Transformer | None:
        if self._generation != self.encryption.generation:
            self._generation = self.encryption.generation
            self._transformers.clear()
        place = self._keys.place(key)
        try:
            return self._transformers[place]
        except KeyError:
            resource = self._keys.resource(place)
            found = self._transformers[place] = self.encryption.transformer(resource) if resource is not None else None
            return found

    async def _open(self, key: str, value: bytes) -> _Opened:
        """Return the object of a stored value, or the value as unreadable."""
        transformer = self._transformer(key)
        if transformer is None:
            return _Opened(value)
        context, fetches = _context(key), 0
        while True:
            try:
                if len(value) > MAX_INLINE_RENDERING_BYTES:
                    return _Opened(*await asyncio.to_thread(transformer.from_storage, value, context))
                return _Opened(*transformer.from_storage(value, context))
            except TransformError as error:
                return _Opened(UnreadableValue(value, str(error)))
            except MissingKeyError as missing:
                fetches += 1
                if fetches > _MOST_FETCHES:
                    return _Opened(UnreadableValue(value, "the keys of the KMS plugin change too often"))
                try:
                    await missing.fetch()
                except TransformError as error:
                    return _Opened(UnreadableValue(value, str(error)))

    async def _seal(self, key: str, value: bytes) -> bytes:
        transformer = self._transformer(key)
        if transformer is None:
            return value
        try:
            if len(value) > MAX_INLINE_RENDERING_BYTES:
                return await asyncio.to_thread(transformer.to_storage, value, _context(key))
            return transformer.to_storage(value, _context(key))
        except TransformError as error:
            raise UntransformableError(str(error)) from error

    async def _expected(self, key: str, value: bytes) -> bytes:
        """Return the value to store for an object, and remember both for the event of the write."""
        stored = await self._seal(key, value)
        if stored is not value and len(value) <= MAX_INLINE_BYTES:
            if len(self._written) >= _MOST_WRITTEN:
                # nothing watches, or writes have failed
                self._written.clear()
            self._written[key] = stored, value
        return stored

    async def _event_value(self, key: str, value: bytes) -> bytes:
        written = self._written.pop(key, None)
        return written[1] if written is not None and written[0] == value else (await self._open(key, value)).value

    async def _pair(self, pair: KeyValue) -> KeyValue:
        opened = await self._open(pair.key, pair.value)
        return pair if opened.value is pair.value and not opened.stale else KeyValue(pair.key, opened.value, pair.revision, opened.stale)

    async def _result(self, result: WriteResult) -> WriteResult:
        if result.current is not None:
            result.current = await self._pair(result.current)
        return result

    async def get(self, key: str) -> tuple[KeyValue | None, int]:
        """Implement Backend.get."""
        pair, revision = await self.inner.get(key)
        return pair and await self._pair(pair), revision

    async def list(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        """Implement Backend.list."""
        found = await self.inner.list(prefix, start=start, revision=revision, limit=limit)
        return RangeResult(await self._pairs(found.items), found.revision, found.count)

    async def _pairs(self, pairs: Sequence[KeyValue]) -> Sequence[KeyValue]:
        pace, items = Pace(), list[KeyValue]()
        for pair in pairs:
            items.append(await self._pair(pair))
            if pace.due:
                await pace.pause()
        return items

    def stream(self, prefix: str, *, start: str, revision: int) -> AsyncGenerator[Sequence[KeyValue]] | None:
        """Implement Backend.stream."""
        found = self.inner.stream(prefix, start=start, revision=revision)
        return self._opened_stream(found) if found is not None else None

    async def _opened_stream(self, stream: AsyncGenerator[Sequence[KeyValue]]) -> AsyncGenerator[Sequence[KeyValue]]:
        async with contextlib.aclosing(stream):
            async for items in stream:
                yield await self._pairs(items)

    async def create(self, key: str, value: bytes, *, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.create.

        Raises:
            UntransformableError: the value cannot be encrypted.
        """
        return await self._result(await self.inner.create(key, await self._expected(key, value), guard=guard))

    async def update(self, key: str, value: bytes, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.update.

        Raises:
            UntransformableError: the value cannot be encrypted.
        """
        return await self._result(await self.inner.update(key, await self._expected(key, value), expected=expected, guard=guard))

    async def delete(self, key: str, *, expected: int, guard: Guard | None = None) -> WriteResult:
        """Implement Backend.delete."""
        return await self._result(await self.inner.delete(key, expected=expected, guard=guard))

    async def watch(self, prefix: str, *, start: int = 0, previous: bool = False) -> AsyncGenerator[WatchBatch]:
        """Implement Backend.watch."""
        async with contextlib.aclosing(self.inner.watch(prefix, start=start, previous=previous)) as batches:
            async for batch in batches:
                yield WatchBatch(await self._events(batch.events), batch.revision) if batch.events else batch

    async def _events(self, events: Sequence[BackendEvent]) -> Sequence[BackendEvent]:
        pace, opened = Pace(urgent=True), list[BackendEvent]()
        for event in events:
            # other watches share the event
            value = event.value if event.value is None else await self._event_value(event.key, event.value)
            previous = event.previous and await self._pair(event.previous)
            opened.append(BackendEvent(event.key, event.revision, value, previous))
            if pace.due:
                await pace.pause()
        return opened

    async def close(self) -> None:
        """Implement Backend.close."""
        await super().close()
        await self.encryption.close()


def _context(key: str) -> bytes:
    # the backend refuses a lone surrogate
    return key.encode(errors="surrogatepass")


async def open_encrypted(backend: Backend, prefix: str, path: Path, *, reload: bool = False) -> TransformingBackend:
    """Return a backend that encrypts the values below a prefix as a file says. Closing it closes the given one.

    Raises:
        ConfigurationError: the file cannot be read or is invalid, or a library is not installed.
    """
    configuration = read_encryption_configuration(path, reload=reload)
    return TransformingBackend(backend, prefix, Encryption(configuration, await open_plugins(configuration)))


async def open_plugins(configuration: EncryptionConfiguration, previous: Plugins | None = None) -> Plugins | None:
    """Connect to the KMS plugins of a configuration, None without any. A plugin that does not answer is tried again.

    The counts of the previous plugins continue.

    Raises:
        ConfigurationError: the library is not installed.
    """
    providers = kms_providers(configuration)
    if not providers:
        return None
    try:
        # few configurations have plugins
        from apiext.storage.value.kms.plugins import Plugins
    except ImportError as error:
        raise ConfigurationError("grpcio is not installed, install apiext[kms]") from error
    return await Plugins.open(providers, previous.stats if previous is not None else None)
