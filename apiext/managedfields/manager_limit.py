"""Limits the number of managers of updates (capmanagers.go of apimachinery pkg/util/managedfields/internal)."""

from __future__ import annotations

from typing import Final

from apiext.managedfields import field_set
from apiext.managedfields.managers import UPDATE, Manager, Managers, Times, VersionedSet
from apiext.meta.limits import MAX_UPDATE_MANAGERS

_ANCIENT: Final = "ancient-changes"


def cap_update_managers(managers: Managers, times: Times) -> tuple[Managers, Times]:
    """Merge the oldest managers of updates, into one for each version, until MAX_UPDATE_MANAGERS are left."""
    if len(managers) <= MAX_UPDATE_MANAGERS:
        return managers, times
    updaters = [manager for manager, owned in managers.items() if not owned.applied]
    left = len(updaters)
    if left <= MAX_UPDATE_MANAGERS:
        return managers, times
    managers, times = managers.copy(), times.copy()
    updaters.sort(key=lambda manager: (times.get(manager, ""), manager.identifier))
    first_of: dict[str, Manager] = {}
    for manager in updaters:
        if left <= MAX_UPDATE_MANAGERS:
            break
        owned = managers[manager]
        first = first_of.setdefault(owned.version, manager)
        if first is manager:
            continue
        bucket = Manager.of(_ANCIENT, UPDATE, owned.version)
        if bucket not in managers:
            managers[bucket] = managers.pop(first)
        managers[bucket] = VersionedSet(field_set.union(owned.fields, managers[bucket].fields), owned.version, applied=False)
        del managers[manager]
        left -= 1
        times.pop(bucket, None)
        if manager in times:
            times[bucket] = times[manager]
    return managers, times
