"""Writes mirrors of the host's definitions through the registry; never changes other definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from apiext.api.endpoints.handlers.write import perform_own
from apiext.api.endpoints.scopes.write_call import SERVER_USER, WriteCall
from apiext.base.meta import limits
from apiext.base.meta.encoding import json_values
from apiext.base.meta.errors import StatusError
from apiext.base.meta.host_annotations import HOST_REVISION, HOST_UID
from apiext.resources.definitions.codec import compact
from apiext.resources.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.server.host.host_definition import MirrorError, OlderStateError
from apiext.storage.interface import Preconditions

if TYPE_CHECKING:
    from apiext.api.endpoints.scopes.scope import Execute, Scope
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.workers.pool import WorkerPool
    from apiext.server.host.host_definition import HostDefinition

T = TypeVar("T")


class _UnchangedError(Exception):
    """The stored definition needs no write."""


class MirrorWriter:
    """Implements Mirrors of server/host/definition_source.py through the registry; several servers may write at once."""

    def __init__(self, scope: Scope, workers: WorkerPool) -> None:
        self._scope = scope
        self._workers = workers

    async def update(self, host: HostDefinition, *, lost_revision: int = 0) -> bool:
        """Update a mirror to the host's definition; return whether a definition of that name exists.

        Updates a mirror of revision `lost_revision` even to an older definition: the host was restored from a backup.

        Raises:
            MirrorError: the existing definition of that name is not a mirror, or mirrors another definition of the host.
            OlderStateError: the mirror has a newer revision.
            StatusError: the write failed.
        """
        return await self._perform(_update, host, lost_revision)

    async def create(self, host: HostDefinition) -> None:
        """Create a mirror without a phase (before the first import), or update an existing one. Raises as `update`."""
        try:
            await self._perform(_create, host)
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            await self.update(host)

    async def _perform(self, execute: Execute[T], host: HostDefinition, lost_revision: int = 0) -> T:
        call = WriteCall(SERVER_USER, namespace="", subresource="", name=host.name, query=(host, lost_revision))
        return await perform_own(self._workers, self._scope, execute, call, heavy=len(host.content) > limits.MAX_INLINE_BYTES)

    async def delete(self, name: str, *, uid: str) -> None:
        """Delete the mirror of the host's definition with that UID, unless the mirror is terminating.

        Raises:
            StatusError: the deletion failed.
        """
        context, rest = RequestContext(), self._scope.rest
        try:
            metadata = (await rest.get(context, name)).object()["metadata"]
            if (metadata.get("annotations") or {}).get(HOST_UID) == uid and "deletionTimestamp" not in metadata:
                await rest.delete(context, name, DeleteOptions(preconditions=Preconditions(uid=metadata["uid"])))
        except StatusError as error:
            if error.code != 404:
                raise


async def _update(scope: Scope, call: WriteCall) -> bool:
    """Update a mirror, see MirrorWriter."""
    host, lost_revision = call.query

    async def updated(existing: Object) -> Object:
        if not _is_mirror(existing, host):
            # terminating: after its deletion, the mirror of the new definition is created
            raise _UnchangedError
        mirror: Object = host.mirror(existing)
        mirrored = _mirrored_revision(existing)
        if _is_up_to_date(mirror, existing):
            raise _UnchangedError
        if host.revision < mirrored != lost_revision:
            raise OlderStateError(mirrored)
        return mirror

    try:
        await scope.rest.update(call.context, host.name, updated, UpdateOptions())
    except _UnchangedError:
        return True
    except StatusError as error:
        if error.code != 404:
            raise
        return False
    return True


async def _create(scope: Scope, call: WriteCall) -> None:
    host, _ = call.query
    await scope.rest.create(call.context, host.mirror(), CreateOptions())


def _is_mirror(existing: Object, host: HostDefinition) -> bool:
    """Return True for a mirror of this definition of the host, False for a terminating one. Raises MirrorError otherwise."""
    metadata = existing["metadata"]
    uid = (metadata.get("annotations") or {}).get(HOST_UID)
    if uid == host.uid:
        return True
    if "deletionTimestamp" in metadata:
        return False
    if uid is None:
        raise MirrorError(f"{host.name}: a definition of this name exists in apiext that does not mirror the host's")
    raise MirrorError(
        f"{host.name}: the host has a new definition of this name with uid {host.uid} instead of {uid}; the mirror stays unchanged"
    )


def _mirrored_revision(existing: Object) -> int:
    """Return the host's revision in a mirror, 0 if there is none."""
    text = existing["metadata"]["annotations"].get(HOST_REVISION, "")
    return int(text) if text.isdecimal() else 0


def _is_up_to_date(crd: Object, existing: Object) -> bool:
    """Return whether a write would change nothing but the revision annotation."""
    if _labels_and_annotations(crd) != _labels_and_annotations(existing):
        return False
    return json_values.equal(crd["spec"], existing["spec"]) or json_values.equal(compact(crd["spec"]), existing["spec"])


def _labels_and_annotations(crd: Object) -> tuple[Object, Object]:
    metadata = crd["metadata"]
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != HOST_REVISION}
    return metadata.get("labels") or {}, annotations
