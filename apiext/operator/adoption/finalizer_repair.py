"""Restores the finalizer and the annotation of definitions whose objects apiext has.

`kubectl replace` removes both, with the label, in one write. Without the finalizer the host would end a deletion before apiext has deleted
the objects. A terminating definition accepts no finalizer: terminating_definitions.py does not depend on it.
"""

from __future__ import annotations

from typing import Final

from apiext.base.meta import host_annotations
from apiext.base.meta.log import get_logger
from apiext.operator import host_definitions
from apiext.operator.api_clients import ApiClient
from apiext.operator.group_state import GroupState, is_held
from apiext.operator.reporting.group_reporter import GroupReporter
from apiext.operator.watched_state import WatchedState

_LOG: Final = get_logger(__name__)
_REPAIRED: Final = "Repaired"


async def restore_finalizers(host: ApiClient, watched: WatchedState, group: GroupState, reporter: GroupReporter) -> None:
    """Restore what is missing, and record an event for each definition. Raises ApiError."""
    restore = host_definitions.restore_finalizer(group.service)
    for name, crd in group.adopted.items():
        if restore(crd) is None:
            continue
        found = await host_definitions.amend(host, crd, restore)
        watched.crds.put(name, found)
        if found is None or not is_held(found):
            continue
        lost = f"annotation {host_annotations.SERVICE}" if is_held(crd) else f"finalizer {host_annotations.INSTANCES_FINALIZER}"
        _LOG.warning("definition repaired", crd=name, lost=lost)
        message = f"Restored the {lost}, which another client removed: apiext has the objects of the definition"
        await reporter.event(found, _REPAIRED, message, warning=True)
