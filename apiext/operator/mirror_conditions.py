"""Copies conditions that apiext sets on a mirror to the host's definition, where people look for them."""

from __future__ import annotations

from typing import Final

from apiext.definitions.conditions import CONVERSION_WEBHOOK_AVAILABLE
from apiext.definitions.unused_versions import UNUSED_STORED_VERSIONS
from apiext.meta import host_annotations
from apiext.operator import host_definitions
from apiext.operator.api_clients import ApiClient, Json
from apiext.operator.group_state import GroupState, condition_of
from apiext.operator.host_definitions import Change
from apiext.operator.watched_state import WatchedState

_TYPES: Final = (UNUSED_STORED_VERSIONS, CONVERSION_WEBHOOK_AVAILABLE)


async def show_mirror_conditions(host: ApiClient, watched: WatchedState, group: GroupState) -> None:
    """Copy the conditions of each mirror to its definition, and remove missing ones there. Raises ApiError.

    A definition without a mirror also loses the condition about stored versions: apiext has no objects of it.
    """
    for name, crd in group.crds.items():
        mirror = group.mirrors.get(name)
        if mirror is None:
            changes = [host_definitions.remove_condition(kind) for kind in (*_TYPES, host_annotations.STORED_VERSIONS_CONDITION)]
        else:
            changes = [_copied(condition_of(mirror, kind), kind) for kind in _TYPES]
        found: Json | None = crd
        for change in changes:
            if found is not None:
                found = await host_definitions.amend(host, found, change, status=True)
        if found is not crd:
            watched.crds.put(name, found)


def _copied(condition: Json, type: str) -> Change:
    if not condition:
        return host_definitions.remove_condition(type)
    return host_definitions.set_condition(type, condition["reason"], condition["message"], status=condition["status"] == "True")
