"""Adoption of one group: chooses take-over, hand-over or deletion, and returns the resulting routing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from apiext.base.meta import host_annotations
from apiext.operator.adoption import mirror_phase
from apiext.operator.adoption import transition as eligibility
from apiext.operator.adoption.handover import HANDED_OVER, hand_over, report_blocked
from apiext.operator.adoption.takeover import adopt, undo_hand_over
from apiext.operator.adoption.terminating_definitions import RETRY_SECONDS, finish_deletion, forget
from apiext.operator.adoption.transition import Transition, TransitionAbortedError, is_meant_for_apiext
from apiext.operator.api_clients import Json
from apiext.operator.group_state import Desired, Routing, condition_of, is_mirror_of, phase_of
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
        ending = sorted(group.adopted.keys() - live.keys())
        return await _postpone(transition, ending) if ending else await hand_over(transition)
    if transition.phases(live, host_annotations.LEAVING) and not (await transition.policy.read()).exists:
        # clients already write to the host: finish the hand-over, and start a new take-over
        await hand_over(transition)
        raise TransitionAbortedError
    await _drop_incomplete(transition)
    if group.hand_back_requested or not group.selected or not live:
        return await _rest(transition)
    reason = eligibility.blocking_reason(group)
    if reason:
        await transition.report(ConditionReason.BLOCKED, reason)
        return await _rest(transition)
    if group.guarded and (new := transition.phases(live, None, host_annotations.IMPORTING)):
        await forget(transition, new)
    return await adopt(transition)


async def _postpone(transition: Transition, ending: list[str]) -> Desired:
    """Let apiext serve the group until it has deleted definitions whose finalizers are in use: the host may have ended their deletion."""
    await undo_hand_over(transition, sorted(transition.live))
    await report_blocked(transition, f"it has to delete the objects of {', '.join(ending)} first")
    return Desired(routing=Routing.APIEXT, after=RETRY_SECONDS)


async def _drop_incomplete(transition: Transition) -> None:
    """Delete incomplete copies: the label was removed during the copy, or the definition was replaced by another one of its name."""
    group, live = transition.group, transition.live
    given_up = [name for name in transition.phases(live, host_annotations.IMPORTING) if not is_meant_for_apiext(group, name)]
    await transition.report(ConditionReason.HANDED_OVER, HANDED_OVER, _given_up(transition, given_up))
    stale = [name for name, one in group.mirrors.items() if name in live and not is_mirror_of(one, live[name])]
    copies = [name for name in stale if phase_of(group.mirrors[name]) == host_annotations.IMPORTING]
    await mirror_phase.delete_mirrors(transition.clients.apiext, [*given_up, *copies])


def _given_up(transition: Transition, names: Iterable[str]) -> dict[str, Json]:
    """Return the definitions that have a condition, but are not meant for apiext."""
    found = {name: transition.live[name] for name in names if not is_meant_for_apiext(transition.group, name)}
    return {name: crd for name, crd in found.items() if condition_of(crd, host_annotations.CONDITION)}


async def _rest(transition: Transition) -> Desired:
    """Keep a group that does not move as it is, while apiext may have objects of it; else let clients write to the host."""
    group = transition.group
    if any(phase_of(one) != host_annotations.IMPORTING for one in group.mirrors.values()):
        return Desired(routing=Routing.AS_IT_IS)
    if group.guarded:
        await transition.report(ConditionReason.HANDED_OVER, HANDED_OVER, _given_up(transition, transition.live))
        await transition.policy.remove()
    return Desired(routing=Routing.AS_IT_IS if group.own else Routing.HOST)
