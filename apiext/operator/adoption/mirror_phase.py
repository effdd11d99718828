"""The marks on definitions: phases of mirrors at apiext, the finalizer on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta import host_annotations
from apiext.operator import host_definitions
from apiext.operator.adoption.eligibility import holds
from apiext.operator.adoption.polling import until
from apiext.operator.api_clients import CRDS, ApiError
from apiext.operator.group_state import annotations_of
from apiext.operator.host_definitions import amend

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.operator.api_clients import Api, Json
    from apiext.operator.group_state import GroupState

_NOT_THIS: Final = frozenset({404, 409})


def follows(group: GroupState, name: str) -> bool:
    """Whether apiext has a mirror of this very definition that can have objects."""
    mirror, crd = group.mirrors.get(name), group.crds.get(name)
    if mirror is None or crd is None or mirror["metadata"].get("deletionTimestamp") or not holds(mirror, "Established"):
        return False
    return bool(annotations_of(mirror)[host_annotations.HOST_UID] == crd["metadata"]["uid"])


async def set_phase(apiext: Api, names: Iterable[str], phase: str) -> None:
    """Put mirrors into a phase; from then on no server writes by the rules of the one before. Raises ApiError."""
    for name in names:
        await apiext.patch(f"{CRDS}/{name}", {"metadata": {"annotations": {host_annotations.PHASE: phase}}})


async def drop(apiext: Api, names: Iterable[str]) -> None:
    """Delete mirrors with all their objects, whatever finalizers these have, and return when they are gone. Raises ApiError."""
    found = {name: await apiext.find(f"{CRDS}/{name}") for name in names}
    uids = {name: one["metadata"]["uid"] for name, one in found.items() if one is not None}
    await set_phase(apiext, uids, host_annotations.LEAVING)
    for name, uid in uids.items():
        try:
            await apiext.delete(f"{CRDS}/{name}", {"preconditions": {"uid": uid}})
        except ApiError as error:
            if error.code not in _NOT_THIS:
                raise

    async def gone() -> bool:
        """None of them is there; one that came after it, of a definition that is selected again, is another."""
        left = [await apiext.find(f"{CRDS}/{name}") for name in uids]
        return not any(one is not None and one["metadata"]["uid"] in uids.values() for one in left)

    await until(gone, lambda: f"apiext does not get rid of {', '.join(uids)}")


async def hold(host: Api, crds: Iterable[Json], service: str) -> None:
    """Keep definitions of the host from being gone before the apiext behind a Service knows. Raises ApiError."""
    for crd in crds:
        await amend(host, crd, host_definitions.hold(service))


async def let_go(host: Api, crds: Iterable[Json]) -> None:
    """Take that back. Raises ApiError."""
    for crd in crds:
        await amend(host, crd, host_definitions.release)
