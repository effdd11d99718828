"""One look at a group with definitions on the host: the next steps of its way, and who should serve it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from apiext.meta import host_annotations
from apiext.operator.adoption import eligibility, mirror_phase
from apiext.operator.adoption.admission_policy import Policy
from apiext.operator.adoption.eligibility import is_meant
from apiext.operator.adoption.handover import hand_over
from apiext.operator.adoption.store_diff import OrderError
from apiext.operator.adoption.takeover import adopt
from apiext.operator.adoption.terminating_definitions import end
from apiext.operator.adoption.transition import TurnedBackError, Way
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Desired, Routing
from apiext.operator.reporting.reporter import Reason
from apiext.storage.backend import BackendError

if TYPE_CHECKING:
    from apiext.operator.api_clients import Clients
    from apiext.operator.group_state import GroupState, Hands
    from apiext.operator.reporting.reporter import Reporter


async def reconcile_group(group: GroupState, clients: Clients, report: Reporter, hands: Hands) -> Desired:
    """Take the group as far as it goes now.

    It is called again when anything of the group changes, and is cancelled where this operator may not act any more. A group
    that comes here has a definition on the host that is selected, held by the finalizer, or mirrored.

    Raises:
        ApiError: a step failed; it is called again, later and later.
    """
    return await take(Way(group, clients, report, hands))


async def take(way: Way) -> Desired:
    """Take one step after the other. Raises ApiError."""
    try:
        while True:
            if way.group.terminating:
                desired = await end(way)
                if desired is not None:
                    return desired
            with suppress(TurnedBackError):
                return await _live(way)
            await way.read()
    except (OrderError, BackendError) as error:
        raise ApiError(str(error)) from error


async def _live(way: Way) -> Desired:
    """What is due for the definitions that are not being deleted."""
    group = way.group
    unwanted = group.hand_over_asked or any(name not in group.selected for name in way.live)
    if unwanted and (group.held or way.phases(way.live, host_annotations.SERVING, host_annotations.FROZEN, host_annotations.LEAVING)):
        return await hand_over(way)
    if way.phases(way.live, host_annotations.LEAVING) and await way.policy.read() is None:
        # clients write to the host already: what is wanted again begins at the beginning
        await hand_over(way)
        raise TurnedBackError
    # what was labelled for a moment only has left nothing but the beginning of a copy
    await mirror_phase.drop(
        way.clients.apiext, [name for name in way.phases(way.live, host_annotations.IMPORTING) if not is_meant(group, name)]
    )
    if group.hand_over_asked or not group.selected or not way.live:
        if group.guarded and not group.mirrors:
            await way.policy.remove()
        return Desired(routing=Routing.AS_IT_IS)
    reason = eligibility.blocked(group)
    if reason:
        await way.tell(Reason.BLOCKED, reason)
        return Desired(routing=Routing.AS_IT_IS)
    return await adopt(way)


async def forget_group(name: str, clients: Clients) -> None:
    """Remove what adoption has left on the host for a group that has no definition there any more. Raises ApiError."""
    await Policy(clients.host, name).delete()
