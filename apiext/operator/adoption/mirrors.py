"""The marks on definitions: phases of mirrors at apiext, the finalizer on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.meta import marks
from apiext.operator import hostcrds
from apiext.operator.adoption.waiting import until
from apiext.operator.clients import CRDS, ApiError
from apiext.operator.group import annotations_of
from apiext.operator.hostcrds import amend

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.operator.clients import Api, Json
    from apiext.operator.group import GroupState


def follows(group: GroupState, name: str) -> bool:
    """Whether apiext has a mirror of this very definition that is not being deleted."""
    mirror, crd = group.mirrors.get(name), group.crds.get(name)
    if mirror is None or crd is None or mirror["metadata"].get("deletionTimestamp"):
        return False
    return bool(annotations_of(mirror)[marks.HOST_UID] == crd["metadata"]["uid"])


async def set_phase(apiext: Api, names: Iterable[str], phase: str) -> None:
    """Put mirrors into a phase; from then on no server writes by the rules of the one before. Raises ApiError."""
    for name in names:
        await apiext.patch(f"{CRDS}/{name}", {"metadata": {"annotations": {marks.PHASE: phase}}})


async def drop(apiext: Api, names: Iterable[str]) -> None:
    """Delete mirrors with all their objects, whatever finalizers these have, and return when they are gone. Raises ApiError."""
    names = [name for name in names if await apiext.find(f"{CRDS}/{name}") is not None]
    await set_phase(apiext, names, marks.LEAVING)
    for name in names:
        try:
            await apiext.delete(f"{CRDS}/{name}")
        except ApiError as error:
            if error.code != 404:
                raise

    async def gone() -> bool:
        return not any([await _is_leaving(apiext, name) for name in names])

    await until(gone, lambda: f"apiext does not get rid of {', '.join(names)}")


async def _is_leaving(apiext: Api, name: str) -> bool:
    """Whether the mirror is there still; one that came after it, of a definition that is selected again, is not it."""
    found = await apiext.find(f"{CRDS}/{name}")
    return found is not None and annotations_of(found).get(marks.PHASE) == marks.LEAVING


async def hold(host: Api, crds: Iterable[Json]) -> None:
    """Keep definitions of the host from being gone before apiext knows. Raises ApiError."""
    for crd in crds:
        await amend(host, crd, hostcrds.hold)


async def let_go(host: Api, crds: Iterable[Json]) -> None:
    """Take that back. Raises ApiError."""
    for crd in crds:
        await amend(host, crd, hostcrds.release)
