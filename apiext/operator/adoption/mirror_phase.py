"""Phases of mirrors at apiext, and their deletion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from apiext.base.meta import host_annotations
from apiext.operator.adoption.polling import until
from apiext.operator.api_clients import CRDS, ApiClient, ApiError
from apiext.operator.group_state import GroupState, is_established, is_mirror_of

_GONE_OR_REPLACED: Final = frozenset({404, 409})


def is_mirrored(group: GroupState, name: str) -> bool:
    """Return whether apiext has an Established mirror of the host's present definition of that name."""
    mirror, crd = group.mirrors.get(name), group.crds.get(name)
    if mirror is None or crd is None or mirror["metadata"].get("deletionTimestamp") or not is_established(mirror):
        return False
    return is_mirror_of(mirror, crd)


async def set_phase(apiext: ApiClient, names: Iterable[str], phase: str) -> None:
    """Set the phase of mirrors. After the call no replica writes by the rules of the previous phase. Raises ApiError."""
    for name in names:
        await apiext.patch(f"{CRDS}/{name}", {"metadata": {"annotations": {host_annotations.PHASE: phase}}})


async def delete_mirrors(apiext: ApiClient, names: Iterable[str]) -> None:
    """Delete mirrors with all their objects, regardless of finalizers of the objects, and wait until they are gone.

    Raises:
        ApiError: a call failed, or a mirror was still there after a timeout.
    """
    found = {name: await apiext.find(f"{CRDS}/{name}") for name in names}
    uids = {name: one["metadata"]["uid"] for name, one in found.items() if one is not None}
    await set_phase(apiext, uids, host_annotations.LEAVING)
    for name, uid in uids.items():
        try:
            await apiext.delete(f"{CRDS}/{name}", {"preconditions": {"uid": uid}})
        except ApiError as error:
            if error.code not in _GONE_OR_REPLACED:
                raise

    async def gone() -> bool:
        """Return whether all are gone. A mirror with a new uid does not count: its definition was selected again."""
        left = [await apiext.find(f"{CRDS}/{name}") for name in uids]
        return not any(one is not None and one["metadata"]["uid"] in uids.values() for one in left)

    await until(gone, lambda: f"apiext does not delete {', '.join(uids)}")
