"""The objects of all kinds that the server serves: read as stored, changed through the same code as clients' requests.

Mirrors kubernetes pkg/controller/garbagecollector/operations.go and patch.go. All patches are merge patches at a revision: the
reference's strategic merge patches of built-in kinds have the same result.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from apiext.api.endpoints.handlers.patch import patch_stored
from apiext.api.endpoints.handlers.write import delete_stored, perform, perform_own
from apiext.api.endpoints.parameters.options import DeleteQuery, WriteQuery
from apiext.api.endpoints.scopes.dialect import MERGE_PATCH
from apiext.api.endpoints.scopes.write_call import WriteCall
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.limits import MAX_INLINE_BYTES
from apiext.base.meta.request import controller_user
from apiext.base.scheduling.side_thread import aside
from apiext.base.scheduling.workqueue import RequeueError
from apiext.storage.interface import Preconditions
from apiext.storage.stored_bytes.object_links import links_in, metadata_of

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.garbagecollector.graph import KindPlace
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.storage.backend import Backend
    from apiext.storage.stored_bytes.object_links import Links, OwnerReference

USER: Final = controller_user("generic-garbage-collector")
"""Who deletes and patches, as admission sees it."""
MANAGER: Final = "kube-controller-manager"
"""The field manager of patches."""


class Kinds(Protocol):
    """The kinds that the server serves and stores."""

    def locate(self, api_version: str, kind: str) -> KindPlace | None:
        """Return where the objects of a kind are stored, None if it is not served in this version."""
        ...

    def scope_of(self, key: str) -> tuple[Scope, str] | None:
        """Return the preferred version of the resource of a key, and the rest of the key; None if it is not served."""
        ...


@dataclass(frozen=True, slots=True)
class LatestObject:
    """An object in its latest state."""

    key: str
    revision: int
    metadata: Object
    links: Links | None
    """None if the object cannot be read, as without the key of its encryption."""

    @property
    def uid(self) -> str | None:
        """Return the uid, None if the object cannot be read."""
        return None if self.links is None else self.links.uid

    @property
    def references(self) -> tuple[OwnerReference, ...]:
        """Return the owner references."""
        return () if self.links is None else self.links.references

    @property
    def finalizers(self) -> tuple[str, ...]:
        """Return the finalizers."""
        return () if self.links is None else self.links.finalizers

    @property
    def owner_references(self) -> list[Any]:
        """Return the owner references as they are stored."""
        return self.metadata.get("ownerReferences") or []


class ServedObjects:
    """Reads, deletes and patches objects by their key in the store.

    Raises:
        StatusError: a write is rejected, or in conflict with the stored object.
        BackendError: the store does not answer.
        RequeueError: the resource of a written object is not served.
    """

    def __init__(self, kinds: Kinds, backend: Backend, workers: WorkerPool) -> None:
        self._kinds = kinds
        self._backend = backend
        self._workers = workers

    async def read(self, key: str) -> LatestObject | None:
        """Return an object, None if it does not exist."""
        pair, _ = await self._backend.get(key)
        if pair is None:
            return None
        small = len(pair.value) <= MAX_INLINE_BYTES
        metadata = metadata_of(pair.value) if small else await aside(partial(metadata_of, pair.value))
        return LatestObject(key, pair.revision, metadata or {}, None if metadata is None else links_in(metadata))

    async def read_known(self, key: str, uid: str) -> LatestObject | None:
        """Return the object of a uid, None if there is another one, none, or an unreadable one."""
        found = await self.read(key)
        return None if found is None or found.uid != uid else found

    async def patch(self, found: LatestObject, metadata: Object) -> None:
        """Change the metadata of an object, if it is still in this state."""
        scope, namespace, name = self._scope(found.key)
        body = {"metadata": {"resourceVersion": str(found.revision), **metadata}}
        call = WriteCall(USER, namespace, "", name, WriteQuery(), MANAGER, MERGE_PATCH, json_codec.dumps(body))
        await perform_own(self._workers, scope, patch_stored, call)

    async def delete(self, found: LatestObject, policy: str) -> None:
        """Delete an object with a propagation policy, unless its owner references have changed."""
        try:
            await self._delete(found, policy, str(found.revision))
        except errors.StatusError as error:
            if error.code != 409:
                raise
            latest = await self.read(found.key)
            if latest is None or latest.uid != found.uid:
                return
            if latest.owner_references != found.owner_references:
                raise
            # frequent changes of other fields must not keep it alive
            await self._delete(found, policy, None)

    async def _delete(self, found: LatestObject, policy: str, revision: str | None) -> None:
        scope, namespace, name = self._scope(found.key)
        query = DeleteQuery(propagation_policy=policy, preconditions=Preconditions(found.uid, revision))
        await perform(self._workers, scope, delete_stored, WriteCall(USER, namespace, "", name, query))

    def _scope(self, key: str) -> tuple[Scope, str, str]:
        served = self._kinds.scope_of(key)
        if served is None:
            raise RequeueError
        scope, rest = served
        namespace, _, name = rest.rpartition("/")
        return scope, name if scope.is_namespaces else namespace, name
