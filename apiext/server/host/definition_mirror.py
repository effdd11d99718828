"""Mirrors of a host's definitions go the way of those that clients send; what here is no mirror of them stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.definitions.compact import compact
from apiext.definitions.equality import same
from apiext.definitions.sources.host_definition import MirrorError, OlderStateError
from apiext.meta import background
from apiext.meta.errors import StatusError
from apiext.meta.host_annotations import HOST_REVISION, HOST_UID
from apiext.registry.request_context import CreateOptions, DeleteOptions, RequestContext, UpdateOptions
from apiext.serving.definition_instances import SYSTEM
from apiext.storage.interface import Preconditions

if TYPE_CHECKING:
    from apiext.definitions.sources.host_definition import HostDefinition
    from apiext.endpoints.handlers.scope import CollectionRest
    from apiext.meta.json_codec import Object

_MANAGER: Final = "apiext-host"


class _SettledError(Exception):
    """There is nothing to write."""


class MirrorWriter:
    """Writes mirrors through the registry (definitions.sources.kube.Mirrors); several servers may do so at once."""

    def __init__(self, rest: CollectionRest) -> None:
        self._rest = rest

    async def update(self, host: HostDefinition, *, lost: int = 0) -> bool:
        """Give a mirror the spec, labels and annotations of the host's definition; whether there is one."""

        async def updated(existing: Object) -> Object:
            if not _is_mirror(existing, host):
                # it is about to go, and makes place for that of another definition
                raise _SettledError
            crd, followed = await background.run(host.mirror, existing), _followed(existing)
            if await background.run(_alike, crd, existing):
                raise _SettledError
            if host.revision < followed != lost:
                raise OlderStateError(followed)
            return crd

        try:
            await self._rest.update(RequestContext(user=SYSTEM), host.name, updated, UpdateOptions(field_manager=_MANAGER))
        except _SettledError:
            return True
        except StatusError as error:
            if error.code != 404:
                raise
            return False
        return True

    async def create(self, host: HostDefinition) -> None:
        """Make a mirror; without a phase it is at the beginning of its way."""
        try:
            crd = await background.run(host.mirror)
            await self._rest.create(RequestContext(user=SYSTEM), crd, CreateOptions(field_manager=_MANAGER))
        except StatusError as error:
            if error.reason != "AlreadyExists":
                raise
            await self.update(host)

    async def delete(self, name: str, *, uid: str) -> None:
        """Mark the mirror for deletion, once."""
        context = RequestContext(user=SYSTEM)
        try:
            metadata = (await self._rest.get(context, name)).object()["metadata"]
            if (metadata.get("annotations") or {}).get(HOST_UID) == uid and "deletionTimestamp" not in metadata:
                await self._rest.delete(context, name, DeleteOptions(preconditions=Preconditions(uid=metadata["uid"])))
        except StatusError as error:
            if error.code != 404:
                raise


def _is_mirror(existing: Object, host: HostDefinition) -> bool:
    """Whether it is the mirror of just this definition; False where it is on its way out. Raises MirrorError."""
    metadata = existing["metadata"]
    uid = (metadata.get("annotations") or {}).get(HOST_UID)
    if uid == host.uid:
        return True
    if "deletionTimestamp" in metadata:
        return False
    if uid is None:
        raise MirrorError(f"{host.name}: another definition of this name is here, which is not the host's")
    raise MirrorError(
        f"{host.name}: on the host it is another one now, with uid {host.uid} instead of {uid}; what there is of it here stays"
    )


def _followed(existing: Object) -> int:
    """The revision of the state that a mirror follows."""
    text = existing["metadata"]["annotations"].get(HOST_REVISION, "")
    return int(text) if text.isdecimal() else 0


def _alike(crd: Object, existing: Object) -> bool:
    """Whether nothing would change but the revision that is followed."""
    if _marked(crd) != _marked(existing):
        return False
    return same(crd["spec"], existing["spec"]) or same(compact(crd["spec"]), existing["spec"])


def _marked(crd: Object) -> tuple[Object, Object]:
    metadata = crd["metadata"]
    annotations = {key: value for key, value in (metadata.get("annotations") or {}).items() if key != HOST_REVISION}
    return metadata.get("labels") or {}, annotations
