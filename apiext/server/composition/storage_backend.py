"""Opens the storage backend of the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.configuration import ConfigurationError
from apiext.server.start_error import StartError
from apiext.storage.backend import BackendError, describe_store
from apiext.storage.backends.revision_offset import with_offset
from apiext.storage.backends.unfinished_restore import refuse_unfinished_restore

if TYPE_CHECKING:
    from collections.abc import Awaitable
    from pathlib import Path

    from apiext.server.options.options import StorageOptions
    from apiext.storage.backend import Backend
    from apiext.storage.etcd.config import EtcdConfig
    from apiext.storage.value.encryption import Encryption


async def open_backend(options: StorageOptions, *, follows_host: bool = False) -> Backend:
    """Open the backend, and apply the revision offset of its store.

    With `follows_host`, record a new offset in a store without one.

    Raises:
        StartError: the backend cannot be opened, or does not answer.
    """
    return await _opened(_etcd(options.etcd) if options.etcd else _sqlite(options), options, begin=follows_host)


async def open_for_reading(options: StorageOptions) -> Backend:
    """Open the backend while a server may use it. SQLite refuses writes; callers must not write to etcd.

    Raises:
        StartError: the backend cannot be opened, or does not answer.
    """
    from apiext.storage.sqlite.read_only import ReadOnlySQLite

    return await _opened(_etcd(options.etcd) if options.etcd else ReadOnlySQLite.open(store_file(options)), options, begin=False)


async def _opened(opening: Awaitable[Backend], options: StorageOptions, *, begin: bool) -> Backend:
    """Return a backend with the revision offset of its store and the encryption of the options.

    With `begin`, record an offset if there is none. Raises StartError.
    """
    try:
        backend = await opening
        try:
            await refuse_unfinished_restore(backend, options.prefix)
            return await _encrypted(await with_offset(backend, options.prefix, begin=begin), options)
        except BaseException:
            await backend.close()
            raise
    except BackendError as error:
        raise StartError(str(error)) from error


async def _encrypted(backend: Backend, options: StorageOptions) -> Backend:
    if options.encryption_file is None:
        return backend
    # few servers encrypt
    from apiext.storage.value.transforming_backend import open_encrypted

    try:
        return await open_encrypted(backend, options.prefix, options.encryption_file, reload=options.encryption_reload)
    except ConfigurationError as error:
        raise StartError(f"--encryption-provider-config: {options.encryption_file}: {error}") from error


def encryption_of(backend: Backend) -> Encryption | None:
    """Return the encryption of an opened backend, None without one."""
    return getattr(backend, "encryption", None)


def describe_storage(options: StorageOptions) -> str:
    """Return a description of the store."""
    return describe_store(store_file(options), options.prefix, options.etcd.servers if options.etcd else None)


def store_file(options: StorageOptions) -> Path:
    """Return the path of the embedded store's file."""
    return options.data_dir / "apiext.db"


async def _sqlite(options: StorageOptions) -> Backend:
    from apiext.storage.sqlite.backend import SQLiteBackend

    try:
        options.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StartError(f"cannot use the data directory {options.data_dir}: {error.strerror}") from error
    return await SQLiteBackend.open(store_file(options))


async def _etcd(config: EtcdConfig) -> Backend:
    # only etcd needs protobuf, which loads slowly
    from apiext.storage.etcd.backend import EtcdBackend

    return await EtcdBackend.connect(config)
