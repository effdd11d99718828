"""The place of a store: an etcd, a data directory of apiext, or a snapshot of etcd."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from apiext.base.meta.configuration import ConfigurationError
from apiext.resources.stored_objects.interface import RescueError
from apiext.resources.stored_objects.offline import open_etcd, open_file
from apiext.storage import stored_object
from apiext.storage.backend import BackendError
from apiext.tools.releases.etcd_snapshot import served_snapshot
from apiext.tools.releases.interface import Release, SourceError, SourceObject, is_wanted
from apiext.tools.releases.object_pages import paged

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence

    from apiext.resources.definitions.definition import Definition
    from apiext.resources.stored_objects.offline import OfflineObjects

_STORE_FILE: Final = "apiext.db"
_SCHEMES: Final = ("http://", "https://")
_BOLT_MAGIC: Final = b"\xed\xda\x0c\xed"
_BOLT_OFFSET: Final = 16
"""The place of the magic number in a database of etcd, after the header of its first page (go.etcd.io/bbolt)."""


class StoreSource:
    """Implements WholeSource over a store. Bytes that cannot be read are objects with a problem."""

    def __init__(self, origin: str, objects: OfflineObjects, *, on_close: Callable[[], Awaitable[None]]) -> None:
        self._origin = origin
        self._objects = objects
        self._on_close = on_close

    @property
    def origin(self) -> str:
        """Implement ObjectSource.origin."""
        return self._origin

    async def release(self, names: Collection[str] | None = None, *, groups: Collection[str] = ()) -> Release:
        """Implement WholeSource.release: the stored definitions that can be read."""
        try:
            stored = await self._objects.custom_definitions()
        except RescueError as error:
            raise SourceError(f"{self._origin}: {error}") from error
        found = [definition for definition in stored if is_wanted(definition.name, names, groups)]
        return Release(self._origin, {definition.name: definition for definition in found}, is_live=True)

    async def count(self, definition: Definition) -> int | None:
        """Implement ObjectSource.count."""
        try:
            return await self._objects.count(definition)
        except BackendError as error:
            raise SourceError(f"{self._origin}: {error}") from error

    async def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Implement ObjectSource.pages. Read at one revision, unless the store compacts it meanwhile."""
        try:
            async for found in self._objects.at_one_revision(definition):
                for page in paged((_source_object(key, pair.value), len(pair.value)) for key, pair in found):
                    yield page
        except BackendError as error:
            raise SourceError(f"{self._origin}: {error}") from error

    async def close(self) -> None:
        """Implement ObjectSource.close."""
        await self._on_close()


def _source_object(key: str, data: bytes) -> SourceObject:
    try:
        obj = stored_object.loads(data)
    except (ValueError, RecursionError) as error:
        encrypted = stored_object.encoding(data) == "encrypted"
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
        origin, objects = await _open(text, access, stack)
        stack.push_async_callback(objects.close)
        return StoreSource(origin, objects, on_close=stack.aclose)
    except BackendError as error:
        await stack.aclose()
        raise SourceError(str(error)) from error
    except ConfigurationError as error:
        await stack.aclose()
        raise SourceError(f"{access.encryption}: {error}") from error
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


async def _open(text: str, access: EtcdAccess, stack: AsyncExitStack) -> tuple[str, OfflineObjects]:
    if is_etcd(text):
        files = {"cafile": access.cafile, "certfile": access.certfile, "keyfile": access.keyfile}
        return f"etcd {text}", await open_etcd(text.split(","), access.prefix, encryption=access.encryption, **files)
    path = _store_path(text)
    if is_data_dir(path):
        return f"data directory {path}", await open_file(path / _STORE_FILE, access.prefix, encryption=access.encryption)
    url = await stack.enter_async_context(served_snapshot(path, access.tools))
    return f"snapshot {path}", await open_etcd([url], access.prefix, encryption=access.encryption)


def _store_path(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.exists():
        raise SourceError(f"{text!r} is no store: neither URLs of etcd, nor a data directory of apiext, nor a snapshot file")
    if path.is_dir() and not is_data_dir(path):
        raise SourceError(f"{path} has no {_STORE_FILE}: it is not a data directory of apiext")
    return path
