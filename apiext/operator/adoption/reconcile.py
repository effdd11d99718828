"""Adoption of one group: chooses take-over, hand-over or deletion, and returns the resulting routing."""

from __future__ import annotations

from contextlib import suppress

from apiext.base.meta import host_annotations
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption import transition as eligibility
from apiext.operator.adoption.handover import hand_over
from apiext.operator.adoption.takeover import adopt
from apiext.operator.adoption.terminating_definitions import finish_deletion
from apiext.operator.adoption.transition import Transition, TransitionAbortedError, is_meant_for_apiext
from apiext.operator.group_state import Desired, Routing
from apiext.operator.host_definitions import ConditionReason


async def reconcile_group(transition: Transition) -> Desired:
    """Run all steps of a group that are possible now; return its routing.

    The group has a definition on the host that is selected, has the finalizer, or has a mirror. The caller repeats the call when the group
    changes, and cancels it when this operator loses the lease.

    Raises:
        ApiError: a step failed; the call is repeated with backoff.
    """
    while True:
        if transition.group.terminating:
            desired = await finish_deletion(transition)
            if desired is not None:
                return desired
        with suppress(TransitionAbortedError):
            return await _run_live(transition)
        await transition.read()


async def _run_live(transition: Transition) -> Desired:
    """Run the next steps for the definitions that are not being deleted."""
    group, live = transition.group, transition.live
    unwanted = group.hand_back_requested or any(name not in group.selected for name in live)
    served = transition.phases(live, host_annotations.SERVING, host_annotations.FROZEN, host_annotations.LEAVING)
    if unwanted and (group.held or served):
        return await hand_over(transition)
    if transition.phases(live, host_annotations.LEAVING) and not (await transition.policy.read()).exists:
        # clients already write to the host: finish the hand-over, and start a new take-over
        await hand_over(transition)
        raise TransitionAbortedError
    # the label was removed during the copy, so the copy is incomplete
    incomplete = [name for name in transition.phases(live, host_annotations.IMPORTING) if not is_meant_for_apiext(group, name)]
    await mirror_phase.delete_mirrors(transition.clients.apiext, incomplete)
    if group.hand_back_requested or not group.selected or not live:
        if group.guarded and not group.mirrors:
            await transition.policy.remove()
        return Desired(routing=Routing.AS_IT_IS)
    reason = eligibility.blocking_reason(group)
    if reason:
        await transition.report(ConditionReason.BLOCKED, reason)
        return Desired(routing=Routing.AS_IT_IS)
    return await adopt(transition)
