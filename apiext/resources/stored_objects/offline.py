"""Stored objects, read and written directly in a store: of an etcd, or in a file."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from apiext.base.meta import errors
from apiext.base.meta.gvk import GroupVersionKind
from apiext.resources.conversion.interface import Converter
from apiext.resources.conversion.known import KnownConversion, Origin
from apiext.resources.conversion.none import NoneConverter
from apiext.resources.conversion.rules_in_use import was_in_use
from apiext.resources.conversion.unknown import UnknownConverter
from apiext.resources.definitions.codec import RESOURCE, CRDCodec
from apiext.resources.definitions.definition import Definition
from apiext.resources.definitions.mirror_phases import check_write
from apiext.resources.definitions.stored_conversions import RULES_IN_USE, read_conversions
from apiext.resources.evaluation.compiled_version import version_schemas
from apiext.resources.registry.customresources.codec import CustomResourceCodec
from apiext.resources.stored_objects.builtin_definitions import builtin_codecs, builtin_kinds, is_builtin, stored_resource
from apiext.resources.stored_objects.interface import RescueError
from apiext.storage.backend import BackendError, CompactedError, Guard
from apiext.storage.errors import CorruptObjectError, StorageError
from apiext.storage.factory import StoreFactory
from apiext.storage.paged_reads import PageLimit, pages
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.replicas.host_records import HostRecords

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence
    from pathlib import Path
    from typing import Self

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog
    from apiext.storage.backend import Backend, KeyValue
    from apiext.storage.interface import Codec
    from apiext.storage.stored_bytes.repair import Repair
    from apiext.storage.stored_bytes.version_counts import StoredVersions
    from apiext.storage.stored_object import UnreadableObject

_DEADLINE_SECONDS: Final = 120.0
"""For each write of a new store."""
_MAX_KEYS: Final = 100
"""Objects read into memory and converted at once; fewer if they are large."""
_FAILURES: Final = (errors.StatusError, StorageError, BackendError)


class OfflineObjects:
    """Implements StoredObjects over a backend. Does not call conversion webhooks."""

    def __init__(self, stores: StoreFactory) -> None:
        self._stores = stores
        self._conversions: dict[str, Object] = {}
        """The Conversions in the store, by name."""
        self._in_use: dict[str, str] = {}
        """Digests of the rules by which servers convert, by the name of the CRD."""

    @classmethod
    def over(cls, backend: Backend, prefix: str) -> Self:
        """Return the objects of a backend."""
        return cls(StoreFactory(backend, prefix=prefix, watch_cache=False, compaction_interval=0))

    async def definitions(self) -> Sequence[Definition]:
        """Implement StoredObjects.definitions: omit unreadable definitions, and append the built-in kinds."""
        return [*await self.custom_definitions(), *builtin_kinds()]

    async def custom_definitions(self) -> Sequence[Definition]:
        """Return the definitions in the store that can be read. Raises RescueError."""
        renderer, codec = Renderer(self._stores.key_prefix(RESOURCE)), CRDCodec()
        found: list[Definition] = []
        try:
            async for page in pages(self._stores.backend, renderer.prefix):
                for pair in page.items:
                    definition = _definition(renderer, codec, pair)
                    if definition is not None:
                        found.append(definition)
            self._conversions = {str(one["metadata"]["name"]): one for one in await read_conversions(self._stores)}
            self._in_use = await HostRecords(self._stores.backend, self._stores.prefix).get(RULES_IN_USE) or {}
        except BackendError as error:
            raise RescueError(f"cannot read the store: {error}") from error
        return found

    async def unreadable(self, definition: Definition) -> AsyncGenerator[UnreadableObject]:
        """Implement StoredObjects.unreadable."""
        repair = self._repair(definition)
        async for pairs in self._pages(definition):
            for found in await repair.unreadable(pairs):
                yield found

    async def unconvertible(self, definition: Definition) -> AsyncGenerator[tuple[str, str]]:
        """Implement StoredObjects.unconvertible."""
        if definition.conversion_strategy == "Webhook":
            raise RescueError(f"only a running server calls the conversion webhook of {definition.name}")
        refused: tuple[tuple[str, str], ...] = ()
        for each in refused:
            yield each

    async def problem(self, definition: Definition, key: str) -> str:
        """Implement StoredObjects.problem."""
        pair = await self.get(definition, key)
        found = await self._repair(definition).unreadable([pair]) if pair is not None else []
        return found[0].problem if found else ""

    async def all(self, definition: Definition) -> AsyncGenerator[tuple[str, KeyValue]]:
        """Implement StoredObjects.all."""
        prefix = self._stores.key_prefix(stored_resource(definition))
        async for pairs in self._pages(definition):
            for pair in pairs:
                yield pair.key.removeprefix(prefix), pair

    async def get(self, definition: Definition, key: str) -> KeyValue | None:
        """Implement StoredObjects.get."""
        try:
            return await self._stored(definition).get(key)
        except BackendError as error:
            raise RescueError(f"cannot read the store: {error}") from error

    async def replace(self, definition: Definition, key: str, data: bytes, *, revision: int, encode: bool) -> int:
        """Implement StoredObjects.replace."""
        try:
            return await self._repair(definition).replace(key, data, revision=revision, encode=encode)
        except _FAILURES as error:
            raise RescueError(str(error)) from error

    async def delete(self, definition: Definition, key: str, *, revision: int) -> None:
        """Implement StoredObjects.delete."""
        try:
            await self._repair(definition).delete(key, revision=revision)
        except _FAILURES as error:
            raise RescueError(str(error)) from error

    async def count(self, definition: Definition) -> int:
        """Return the number of objects. Raises BackendError."""
        return await self._stores.backend.count(self._stores.key_prefix(stored_resource(definition)))

    async def at_one_revision(self, definition: Definition) -> AsyncGenerator[Sequence[tuple[str, KeyValue]]]:
        """Yield pages of objects with their keys, all as of one revision, unless the store compacts it meanwhile. Raises BackendError."""
        prefix, start = self._stores.key_prefix(stored_resource(definition)), ""
        while True:
            try:
                async for found in pages(self._stores.backend, prefix, start=start):
                    yield [(pair.key.removeprefix(prefix), pair) for pair in found.items]
                    start = f"{found.items[-1].key}\0" if found.items else start
            except CompactedError:
                continue
            return

    async def close(self) -> None:
        """Implement StoredObjects.close."""
        await self._stores.backend.close()

    async def _pages(self, definition: Definition) -> AsyncGenerator[Sequence[KeyValue]]:
        stored, size, after = self._stored(definition), PageLimit(), ""
        while True:
            try:
                pairs, after = await stored.page(after, min(size.keys, _MAX_KEYS))
            except BackendError as error:
                raise RescueError(f"cannot read the store: {error}") from error
            yield pairs
            if not after:
                return
            size.adapt(pairs)

    def _stored(self, definition: Definition) -> StoredVersions:
        return self._stores.stored_versions(stored_resource(definition))

    def _repair(self, definition: Definition) -> Repair:
        guard = _PhaseGuard(definition, self._stores.key_prefix(RESOURCE) + definition.name)
        codec = _codec(definition, self._conversions.get(definition.name), self._in_use.get(definition.name))
        return self._stores.repair(stored_resource(definition), codec, guard)


async def open_etcd(
    servers: Sequence[str],
    prefix: str,
    *,
    cafile: Path | None = None,
    certfile: Path | None = None,
    keyfile: Path | None = None,
    encryption: Path | None = None,
) -> OfflineObjects:
    """Return the objects in an etcd. `encryption` is the file of an EncryptionConfiguration.

    Raises:
        BackendError: etcd does not answer.
        ConfigurationError: the encryption is invalid.
    """
    # only etcd needs protobuf, which loads slowly
    from apiext.storage.etcd.backend import EtcdBackend
    from apiext.storage.etcd.config import EtcdConfig

    config = EtcdConfig(servers=[*servers], prefix=prefix, cafile=cafile, certfile=certfile, keyfile=keyfile)
    return await _opened(await EtcdBackend.connect(config), prefix, encryption)


async def open_file(path: Path, prefix: str, *, encryption: Path | None = None) -> OfflineObjects:
    """Return the objects in the file of an embedded store, which is only read.

    Raises:
        BackendError: the file is no store.
        ConfigurationError: the encryption is invalid.
    """
    from apiext.storage.sqlite.read_only import ReadOnlySQLite

    return await _opened(await ReadOnlySQLite.open(path), prefix, encryption)


async def _opened(backend: Backend, prefix: str, encryption: Path | None) -> OfflineObjects:
    if encryption is None:
        return OfflineObjects.over(backend, prefix)
    # few stores are encrypted
    from apiext.storage.value.transforming_backend import open_encrypted

    try:
        return OfflineObjects.over(await open_encrypted(backend, prefix, encryption), prefix)
    except BaseException:
        await backend.close()
        raise


class NewStore:
    """A new store before a server uses it. Creates definitions and objects as bytes: uids, managedFields and stored versions stay.

    Raises:
        BackendError: from every method, if the store cannot be written.
    """

    def __init__(self, stores: StoreFactory) -> None:
        self._stores = stores

    async def add(self, definition: Definition, key: str, data: bytes) -> None:
        """Create an object of a definition. The key is "namespace/name" or "name"."""
        await self._stores.backend.create(self._stores.key_prefix(definition.resource) + key, data)

    async def define(self, definition: Definition) -> None:
        """Create a definition, after its objects."""
        await self._stores.backend.create(self._stores.key_prefix(RESOURCE) + definition.name, CRDCodec().encode(definition.object).stored)


@asynccontextmanager
async def new_store(path: Path) -> AsyncGenerator[NewStore]:
    """Yield the new store in a file, and close it at the end. Raises BackendError."""
    from apiext.storage.sqlite.backend import SQLiteBackend

    backend = await SQLiteBackend.open(path, deadline=_DEADLINE_SECONDS)
    try:
        yield NewStore(StoreFactory(backend, watch_cache=False, compaction_interval=0))
    finally:
        await backend.close()


def _definition(renderer: Renderer, codec: CRDCodec, pair: KeyValue) -> Definition | None:
    try:
        return Definition.from_item(renderer.item(codec, pair.key.removeprefix(renderer.prefix), pair.value, pair.revision))
    except (CorruptObjectError, ValueError):
        return None


def _codec(definition: Definition, conversion: Object | None, digest: str | None) -> Codec:
    """Return the codec of the storage version, which converts by the rules of a Conversion if there are any.

    It converts nothing if servers convert by rules with a `digest`, and the store has none: objects would lose fields.
    """
    if is_builtin(definition):
        return builtin_codecs()[definition.resource]
    storage, schemas = definition.storage_version.name, version_schemas(definition)
    converter: Converter = NoneConverter() if definition.conversion_strategy == "None" else _NoWebhook()
    if conversion is not None:
        from apiext.resources.conversion.rules.building import build_rules

        in_use = was_in_use(conversion) or KnownConversion(definition.name, conversion, Origin.OBJECT).digest == digest
        converter = build_rules(definition.name, conversion, schemas, storage, in_use=in_use).converter
    elif digest is not None:
        converter = UnknownConverter(f"only a running server has the conversion rules of {definition.name}, which are in a file")
    return CustomResourceCodec(
        kind=GroupVersionKind(definition.group, storage, definition.names.kind),
        storage_version=storage,
        schemas=schemas,
        converter=converter,
        namespaced=definition.namespaced,
    )


class _NoWebhook(Converter):
    """Refuses every conversion."""

    async def convert(self, _objects: Sequence[Object], api_version: str, _log: CallLog | None = None) -> Sequence[Object]:
        """Raise StatusError."""
        raise errors.service_unavailable(f"only a running server asks the conversion webhook, for {api_version}")


class _PhaseGuard:
    """Implements WriteGuard: a write fails if another server has changed the phase of a mirror."""

    def __init__(self, definition: Definition, key: str) -> None:
        self._definition = definition
        self._key = key

    def decide(self, _value: bytes | None, /) -> Guard | None:
        """Implement WriteGuard.decide."""
        check_write(self._definition)
        return None if self._definition.phase is None else Guard(self._key, self._definition.revision)

    async def outdated(self, _guard: Guard) -> None:
        """Raise StatusError: the definition has changed since it was read."""
        raise errors.too_many_requests(f"{self._definition.name} has changed meanwhile: try again", 1)
