"""The host's own etcd. A hand-over writes objects to it unchanged, because the host's API would give them new uids.

kube-apiserver treats writes there like its own: its watch cache, open watches and reads show them at once, and deletions cause DELETED
events. So the operator writes objects while no client can read the group through the host.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Self

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.configuration import ConfigurationError
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.gvk import GroupResource
from apiext.operator.adoption.object_pages import AdoptedResource
from apiext.operator.adoption.store_diff import Difference, StoredObject, stored_object
from apiext.operator.api_clients import ApiError, Json
from apiext.storage import keys
from apiext.storage import stored_object as stored_bytes
from apiext.storage.backend import Backend, BackendError, KeyValue, UnreadableValue
from apiext.storage.etcd.config import EtcdConfig

_CRDS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource.group_resource
PAGE_SIZE: Final = 500
"""Objects read at once."""
_MAX_CONCURRENT_WRITES: Final = 32


class HostStore:
    """An open connection to the host's etcd. Its methods raise ApiError or BackendError, which `open` converts to ApiError."""

    def __init__(self, backend: Backend, prefix: str) -> None:
        self._backend = backend
        self._prefix = prefix

    @classmethod
    @asynccontextmanager
    async def open(cls, etcd: EtcdConfig, encryption: Path | None = None) -> AsyncIterator[Self]:
        """Connect to etcd while the context is open. `encryption` is the host's EncryptionConfiguration. Raises ApiError."""
        # loads protobuf
        from apiext.storage.etcd.backend import EtcdBackend

        try:
            backend: Backend = await EtcdBackend.connect(etcd)
            try:
                if encryption is not None:
                    backend = await _encrypted(backend, etcd.prefix, encryption)
                yield cls(backend, etcd.prefix)
            finally:
                await backend.close()
        except BackendError as error:
            raise ApiError(f"the host's etcd: {error}") from error

    async def check(self, crd: Json) -> None:
        """Verify that this etcd holds a definition of the host. Raises ApiError if it does not, and BackendError."""
        name = crd["metadata"]["name"]
        found, _revision = await self._backend.get(f"{keys.resource_prefix(self._prefix, _CRDS)}{name}")
        if found is None:
            raise ApiError(f"the host's etcd has no {name} below {self._prefix}: see --host-etcd-servers and --host-etcd-prefix")
        _check_decrypted(found.value, name)
        stored = _parsed(found.value)
        if stored is None or stored["metadata"].get("uid") != crd["metadata"]["uid"]:
            raise ApiError(f"{name} in the etcd of --host-etcd-servers is not the host's: it is another cluster's")

    async def check_decrypted(self, crd: Json, of: AdoptedResource) -> None:
        """Verify that a definition of the host and all its objects can be decrypted, as far as they exist here.

        Raises ApiError if not, and BackendError.
        """
        found, _revision = await self._backend.get(f"{keys.resource_prefix(self._prefix, _CRDS)}{crd['metadata']['name']}")
        if found is not None:
            _check_decrypted(found.value, crd["metadata"]["name"])
        async for page in self._pages(self._below(of)):
            for item in page:
                _check_decrypted(item.value, of.definition)

    async def objects(self, of: AdoptedResource) -> AsyncGenerator[StoredObject, None]:
        """Yield all objects of a resource by key, at one revision. Raises ApiError for encrypted objects, and BackendError."""
        prefix = self._below(of)
        async for page in self._pages(prefix):
            for item in page:
                _check_decrypted(item.value, of.definition)
                yield _stored_object(item.key.removeprefix(prefix), item.value, item.revision)

    async def _pages(self, prefix: str) -> AsyncGenerator[Sequence[KeyValue], None]:
        start, revision = "", 0
        while True:
            page = await self._backend.list(prefix, start=start, revision=revision, limit=PAGE_SIZE)
            revision = revision or page.revision
            yield page.items
            if not page.more:
                return
            start = page.items[-1].key + "\0"

    async def write(self, of: AdoptedResource, differences: Iterable[Difference]) -> None:
        """Write the wanted objects, several at once. Raises ApiError if a key has changed since it was read, and BackendError."""
        found = list(differences)
        for first in range(0, len(found), _MAX_CONCURRENT_WRITES):
            await asyncio.gather(*(self._write(of, one) for one in found[first : first + _MAX_CONCURRENT_WRITES]))

    async def apply(self, of: AdoptedResource, changes: Iterable[Difference]) -> None:
        """Write changes of whose present objects nothing is known. Raises ApiError if a key changes meanwhile, and BackendError."""
        found = list(changes)
        for first in range(0, len(found), _MAX_CONCURRENT_WRITES):
            known = await asyncio.gather(*(self._with_present(of, one) for one in found[first : first + _MAX_CONCURRENT_WRITES]))
            await self.write(of, (one for one in known if one.wanted or one.present))

    async def _with_present(self, of: AdoptedResource, change: Difference) -> Difference:
        """Return a change with the object that it replaces."""
        key = (change.wanted or change.present or _NOTHING).key
        found, _revision = await self._backend.get(f"{self._below(of)}{key}")
        if found is None:
            return Difference(change.wanted, None)
        _check_decrypted(found.value, of.definition)
        return Difference(change.wanted, _stored_object(key, found.value, found.revision))

    async def _write(self, of: AdoptedResource, difference: Difference) -> None:
        wanted, present = difference.wanted, difference.present
        key = f"{self._below(of)}{(wanted or present or _NOTHING).key}"
        if wanted is None:
            done = await self._backend.delete(key, expected=present.revision if present else 0)
        elif present is None:
            done = await self._backend.create(key, _value(wanted))
        else:
            done = await self._backend.update(key, _value(wanted), expected=present.revision)
        if not done.succeeded:
            raise ApiError(f"{key} in the host's etcd was changed by another client")

    def _below(self, of: AdoptedResource) -> str:
        return keys.resource_prefix(self._prefix, GroupResource(of.group, of.plural))


_NOTHING: Final = StoredObject("", {}, b"")


async def _encrypted(backend: Backend, prefix: str, file: Path) -> Backend:
    # few hosts encrypt custom resources
    from apiext.storage.value.transforming_backend import open_encrypted

    try:
        return await open_encrypted(backend, prefix, file)
    except ConfigurationError as error:
        raise ApiError(f"--host-encryption-provider-config: {file}: {error}") from error


def _check_decrypted(value: bytes, definition: str) -> None:
    if isinstance(value, UnreadableValue):
        raise ApiError(f"the host's etcd has values of {definition} that --host-encryption-provider-config cannot read: {value.problem}")
    if value.startswith(stored_bytes.ENCRYPTED_PREFIX):
        raise ApiError(
            f"the host encrypts what it stores of {definition}: "
            "start the operator with --host-encryption-provider-config, the file of the host's kube-apiserver"
        )


def _stored_object(key: str, value: bytes, revision: int) -> StoredObject:
    content = _parsed(value)
    if content is None:
        # unreadable: counts as different
        return StoredObject(key, {}, hashlib.blake2b(value, digest_size=32).digest(), revision)
    return StoredObject(key, content, stored_object(content).digest, revision)


def _parsed(value: bytes) -> Json | None:
    try:
        found = stored_bytes.loads(value)
    except ValueError:
        return None
    return found if isinstance(found, dict) and isinstance(found.get("metadata"), dict) else None


def _value(wanted: StoredObject) -> bytes:
    """Return an object as kube-apiserver stores it."""
    return json_codec.dumps(wanted.content) + b"\n"
