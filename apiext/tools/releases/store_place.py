"""The place of a store: an etcd, a data directory of apiext, or a snapshot of etcd."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.storage import stored_object
from apiext.storage.backend import BackendError, CompactedError
from apiext.storage.factory import StoreFactory
from apiext.storage.paged_reads import pages
from apiext.tools.object_access.builtin_definitions import is_builtin
from apiext.tools.object_access.interface import RescueError
from apiext.tools.object_access.offline import OfflineObjects
from apiext.tools.releases.etcd_snapshot import served_snapshot
from apiext.tools.releases.interface import Release, SourceError, SourceObject, is_wanted
from apiext.tools.releases.object_pages import paged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence

    from apiext.resources.definitions.definition import Definition
    from apiext.storage.backend import Backend, KeyValue

_STORE_FILE: Final = "apiext.db"
_SCHEMES: Final = ("http://", "https://")
_BOLT_MAGIC: Final = b"\xed\xda\x0c\xed"
_BOLT_OFFSET: Final = 16
"""The place of the magic number in a database of etcd, after the header of its first page (go.etcd.io/bbolt)."""


class StoreSource:
    """Implements WholeSource over a backend. Bytes that cannot be read are objects with a problem."""

    def __init__(self, origin: str, backend: Backend, *, prefix: str, on_close: Callable[[], Awaitable[None]]) -> None:
        self._origin = origin
        self._backend = backend
        self._stores = StoreFactory(backend, prefix=prefix, watch_cache=False, compaction_interval=0)
        self._on_close = on_close

    @property
    def origin(self) -> str:
        """Implement ObjectSource.origin."""
        return self._origin

    async def release(self, names: Collection[str] | None = None, *, groups: Collection[str] = ()) -> Release:
        """Implement WholeSource.release: the stored definitions that can be read."""
        try:
            stored = await OfflineObjects(self._stores).definitions()
        except RescueError as error:
            raise SourceError(f"{self._origin}: {error}") from error
        found = [definition for definition in stored if not is_builtin(definition) and is_wanted(definition.name, names, groups)]
        return Release(self._origin, {definition.name: definition for definition in found}, is_live=True)

    async def count(self, definition: Definition) -> int | None:
        """Implement ObjectSource.count."""
        try:
            return await self._backend.count(self._stores.key_prefix(definition.resource))
        except BackendError as error:
            raise SourceError(f"{self._origin}: {error}") from error

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Implement ObjectSource.pages. Read at one revision, unless the store compacts it meanwhile."""
        prefix, start = self._stores.key_prefix(definition.resource), ""
        while True:
            try:
                async for found in pages(self._backend, prefix, start=start):
                    for page in paged((_source_object(pair, prefix), len(pair.value)) for pair in found.items):
                        yield page
                    start = f"{found.items[-1].key}\0" if found.items else start
            except CompactedError:
                continue
            except BackendError as error:
                raise SourceError(f"{self._origin}: {error}") from error
            return

    async def close(self) -> None:
        """Implement ObjectSource.close."""
        await self._on_close()


def _source_object(pair: KeyValue, prefix: str) -> SourceObject:
    key = pair.key.removeprefix(prefix)
    try:
        obj = stored_object.loads(pair.value)
    except (ValueError, RecursionError) as error:
        encrypted = stored_object.encoding(pair.value) == "encrypted"
        return SourceObject(key, {}, is_stored=True, problem="is encrypted" if encrypted else f"cannot be parsed: {error}")
    if not isinstance(obj, dict):
        return SourceObject(key, {}, is_stored=True, problem="is not an object")
    return SourceObject(key, obj, is_stored=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EtcdAccess:
    """How to read an etcd or a snapshot."""

    prefix: str = "/registry"
    cafile: Path | None = None
    certfile: Path | None = None
    keyfile: Path | None = None
    encryption: Path | None = None
    """The EncryptionConfiguration of the store, of a data directory too; None if values are not encrypted."""
    tools: Path | None = None
    """The folder of `etcd` and `etcdutl`, which read a snapshot; None for those of PATH."""


async def open_store(text: str, access: EtcdAccess) -> StoreSource:
    """Return the source of objects as they are stored; `text` is URLs of etcd, or a path.

    Raises:
        SourceError: it is no store, or it cannot be opened.
    """
    stack = AsyncExitStack()
    try:
        origin, stored = await _open(text, access, stack)
        stack.push_async_callback(stored.close)
        backend = await _decrypted(stored, access)
        return StoreSource(origin, backend, prefix=access.prefix, on_close=stack.aclose)
    except BackendError as error:
        await stack.aclose()
        raise SourceError(str(error)) from error
    except BaseException:
        await stack.aclose()
        raise


def is_data_dir(path: Path) -> bool:
    """Report whether a folder has a store of apiext."""
    return (path / _STORE_FILE).is_file()


def is_etcd(text: str) -> bool:
    """Report whether a text is URLs of etcd."""
    return text.startswith(_SCHEMES)


def is_snapshot(head: bytes) -> bool:
    """Report whether a file that begins with these bytes is a database of etcd."""
    return head[_BOLT_OFFSET : _BOLT_OFFSET + len(_BOLT_MAGIC)] == _BOLT_MAGIC


async def _open(text: str, access: EtcdAccess, stack: AsyncExitStack) -> tuple[str, Backend]:
    if is_etcd(text):
        return f"etcd {text}", await _etcd(text.split(","), access)
    path = _store_path(text)
    if is_data_dir(path):
        from apiext.storage.sqlite.read_only import ReadOnlySQLite

        return f"data directory {path}", await ReadOnlySQLite.open(path / _STORE_FILE)
    url = await stack.enter_async_context(served_snapshot(path, access.tools))
    return f"snapshot {path}", await _etcd([url], EtcdAccess(prefix=access.prefix))


def _store_path(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.exists():
        raise SourceError(f"{text!r} is no store: neither URLs of etcd, nor a data directory of apiext, nor a snapshot file")
    if path.is_dir() and not is_data_dir(path):
        raise SourceError(f"{path} has no {_STORE_FILE}: it is not a data directory of apiext")
    return path


async def _decrypted(backend: Backend, access: EtcdAccess) -> Backend:
    if access.encryption is None:
        return backend
    # few stores are encrypted
    from apiext.base.meta.configuration import ConfigurationError
    from apiext.storage.value.opening import open_encrypted

    try:
        return await open_encrypted(backend, access.prefix, access.encryption)
    except ConfigurationError as error:
        raise SourceError(f"{access.encryption}: {error}") from error


async def _etcd(servers: list[str], access: EtcdAccess) -> Backend:
    # only etcd needs protobuf, which loads slowly
    from apiext.storage.etcd.backend import EtcdBackend
    from apiext.storage.etcd.config import EtcdConfig

    config = EtcdConfig(servers=servers, prefix=access.prefix, cafile=access.cafile, certfile=access.certfile, keyfile=access.keyfile)
    return await EtcdBackend.connect(config)
