"""Synchronizes status.storedVersions of the host's definitions and their mirrors, also when one of them loses a version.

The host's list grows with its storage version, and shrinks when its migrator or a person removes a version. A mirror follows a removal
only when apiext stores no object in the version. The count is final: a write to an instance of a mirror commits only in the mirror's
storage version (api/serving/instance_guard.py), and the mirror is changed only if it has the revision that was read before the count.
Otherwise the version is added to the host's list again, and a condition tells how many objects are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from apiext.base.meta import host_annotations
from apiext.base.meta.log import get_logger
from apiext.operator import host_definitions
from apiext.operator.api_clients import CRDS, ApiError, Clients, Json
from apiext.operator.group_state import GroupState, annotations_of, condition_of
from apiext.operator.host_definitions import Change, missing_versions, storage_version, stored_versions
from apiext.operator.reporting.group_reporter import GroupReporter
from apiext.operator.watched_state import WatchedState
from apiext.storage.stored_bytes.version_counts import UNKNOWN, StoredCounts

_LOG: Final = get_logger(__name__)
_TYPE: Final = host_annotations.STORED_VERSIONS_CONDITION
_RECOUNT_SECONDS: Final = 5.0
"""Pause between two counts of objects in removed versions."""
_COUNTS: Final = "/stored/versions"
_CONFLICT: Final = 409


async def follow_stored_versions(clients: Clients, watched: WatchedState, group: GroupState, reporter: GroupReporter) -> float | None:
    """Synchronize the stored versions of a group's definitions and mirrors; return the seconds until the next count, None without one.

    Raises:
        ApiError: a call failed.
    """
    after = None
    for name, mirror in group.mirrors.items():
        crd = group.crds.get(name)
        if crd is None or annotations_of(mirror).get(host_annotations.HOST_UID) != crd["metadata"]["uid"]:
            continue
        if name not in group.terminating and await _Definition(clients, watched, reporter, crd, mirror).follow():
            after = _RECOUNT_SECONDS
    return after


@dataclass(slots=True)
class _Definition:
    """One definition of the host with its mirror."""

    clients: Clients
    watched: WatchedState
    reporter: GroupReporter
    crd: Json
    mirror: Json

    async def follow(self) -> bool:
        """Copy removals on the host to the mirror, or undo them; return whether to repeat this soon. Raises ApiError."""
        listed, on_host = stored_versions(self.mirror), stored_versions(self.crd)
        removed = [version for version in listed if version not in on_host]
        if not removed and not condition_of(self.crd, _TYPE):
            return False
        counts = await self._counts()
        # a mirror that lags may still have the host's previous storage version
        unused = [version for version in removed if not counts.at_most(version) and version != storage_version(self.mirror)]
        if unused and not await self._drop(unused):
            return True
        in_use = [version for version in listed if counts.at_most(version) and version != storage_version(self.crd)]
        if in_use:
            await self._amend_host(host_definitions.add_stored_versions(in_use))
            await self._report(in_use, counts)
        else:
            await self._amend_host(host_definitions.remove_condition(_TYPE))
        return bool(in_use) or removed != unused

    async def _drop(self, unused: list[str]) -> bool:
        """Remove versions from the mirror's list; return false if the mirror has changed meanwhile. Raises ApiError."""
        metadata = self.mirror["metadata"]
        left = [version for version in stored_versions(self.mirror) if version not in unused]
        patch = {"metadata": {"resourceVersion": metadata["resourceVersion"]}, "status": {"storedVersions": left}}
        try:
            after = await self.clients.apiext.patch(f"{CRDS}/{metadata['name']}/status", patch)
        except ApiError as error:
            if error.code != _CONFLICT:
                raise
            return False
        self.watched.definitions.update(after)
        _LOG.info("versions without objects removed from stored versions", crd=metadata["name"], versions=unused)
        return True

    async def _report(self, in_use: list[str], counts: StoredCounts) -> None:
        """Set the condition, and record an event for a new one. Raises ApiError."""
        objects = "; ".join(_described(counts, version) for version in in_use)
        message = (
            f"apiext stores objects in other versions than {storage_version(self.crd)}: {objects}; migrate them, then remove these versions"
        )
        if lost := missing_versions(self.crd, in_use):
            message += f"; until then, apiext keeps {' and '.join(lost)}, which the definition has dropped, without serving it"
        if not condition_of(self.crd, _TYPE):
            await self.reporter.event(self.crd, _TYPE, message, warning=True)
        await self._amend_host(host_definitions.set_condition(_TYPE, "ObjectsLeft", message, status=True))

    async def _amend_host(self, change: Change) -> None:
        after = await host_definitions.amend(self.clients.host, self.crd, change, status=True)
        if after is None:
            self.watched.crds.put(self.crd["metadata"]["name"], None)
        elif after is not self.crd:
            self.watched.crds.update(after)
            self.crd = after

    async def _counts(self) -> StoredCounts:
        """Return the number of objects in each version from apiext. Raises ApiError."""
        found = await self.clients.apiext.get(f"{_COUNTS}/{self.mirror['metadata']['name']}")
        numbers = {version["name"]: version["objects"] for version in found["versions"]} | {UNKNOWN: found["unknown"]}
        return StoredCounts({name: number for name, number in numbers.items() if number}, int(found["resourceVersion"]))


def _described(counts: StoredCounts, version: str) -> str:
    """Return the number of objects that may be stored in a version, as words."""
    found = f"{counts.of(version)} in {version}"
    return f"{found}, {counts.unknown} in an unknown version" if counts.unknown else found
