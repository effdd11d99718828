"""Reconciliation of one group: adoption, APIServices, finalizers, stored versions, and the reports about them."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final

from apiext.base.meta import host_annotations
from apiext.operator import host_definitions
from apiext.operator.adoption.admission_policy import Policy
from apiext.operator.adoption.finalizer_repair import restore_finalizers
from apiext.operator.adoption.reconcile import reconcile_group
from apiext.operator.adoption.terminating_definitions import release
from apiext.operator.adoption.transition import Transition
from apiext.operator.api_clients import CRDS, ApiClient, ApiError, Clients, Json
from apiext.operator.apiservice_owner import ServiceTarget
from apiext.operator.apiservices.plan import Action, available, plan, unavailable
from apiext.operator.apiservices.registrar import Registrar, foreign_message
from apiext.operator.group_state import Desired, GroupState, Routing, annotations_of, condition_of
from apiext.operator.host_definitions import Change, ConditionReason
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.reporting.group_reporter import GroupReporter
from apiext.operator.stored_versions import follow_stored_versions
from apiext.operator.watched_state import WatchedState
from apiext.resources.definitions.conditions import CONVERSION_WEBHOOK_AVAILABLE
from apiext.resources.definitions.unused_versions import UNUSED_STORED_VERSIONS

_UNKNOWN_RETRY_SECONDS: Final = 0.5
"""Pause until apiext's definitions are listed."""
_OBSTACLE_RETRY_SECONDS: Final = 30.0
"""Pause while apiext is unreachable, or another server owns the group."""
_UNAVAILABLE_GRACE_SECONDS: Final = 2.0
"""Seconds in which an unavailable APIService is not reported: the host updates the condition with a delay."""
_TEMPORARY_CODES: Final = frozenset({0, 409, 429, 500, 502, 503, 504})
"""Codes of errors that are reported only after several failures."""
_REPORTED_FAILURES: Final = 3
"""Failures in a row after which a temporary error is reported."""

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


class Reconciler:
    """Reconciles groups. `diagnose` returns the first failed check of a group, empty if all pass."""

    def __init__(
        self,
        clients: Clients,
        watched: WatchedState,
        recorder: EventRecorder,
        target: Callable[[], ServiceTarget],
        diagnose: Callable[[str], Awaitable[str]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clients = clients
        self._watched = watched
        self._recorder = recorder
        self._target = target
        self._diagnose = diagnose
        self._registrar = Registrar(clients, watched, recorder, target)
        self._reporters: dict[str, GroupReporter] = {}
        self._failures: dict[str, int] = {}
        self._unavailable: dict[str, float] = {}
        self._clock = clock

    async def reconcile(self, name: str) -> float | None:
        """Reconcile a group; return the seconds until the next call, None for the next change. Raises ApiError."""
        if not self._watched.concerns(name, self._target()):
            for kept in (self._reporters, self._failures, self._unavailable):
                kept.pop(name, None)
            return None
        reporter = self._reporters.setdefault(name, GroupReporter(self._clients.host, self._recorder, self._watched.crds.update))
        try:
            after = await self._reconcile_group(self._watched.group(name), reporter)
        except ApiError as error:
            self._failures[name] = self._failures.get(name, 0) + 1
            if error.code not in _TEMPORARY_CODES or self._failures[name] >= _REPORTED_FAILURES:
                await reporter.condition(self._watched.group(name).reported.values(), ConditionReason.FAILED, str(error))
            raise
        self._failures.pop(name, None)
        return after

    async def _reconcile_group(self, group: GroupState, reporter: GroupReporter) -> float | None:
        if group.other_service:
            for crd in group.selected.values():
                await reporter.event(
                    crd, "LeftAlone", f"group {group.name} belongs to the apiext behind Service {group.other_service}", warning=True
                )
            return _OBSTACLE_RETRY_SECONDS
        reporter.obstacle = await self._obstacle(group)
        if not self._watched.known:
            # raises ApiError with the reason if apiext does not respond
            await self._clients.apiext.get(f"{CRDS}?limit=1")
            return _UNKNOWN_RETRY_SECONDS
        await restore_finalizers(self._clients.host, self._watched, group, reporter)
        desired, decided = await self._adopt(self._watched.group(group.name), reporter)
        planned = await self._registrar.apply(group.name, desired.routing, decided=decided)
        for found in planned.foreign:
            await reporter.event(found, "LeftAlone", foreign_message(found), warning=True)
        for version in planned.kept:
            if kept := self._watched.group(group.name).api_services.get(f"{version}.{group.name}"):
                message = f"apiext has definitions of {group.name}/{version}, too, which kube-apiserver serves: they are not registered"
                await reporter.event(kept, "LeftAlone", message, warning=True)
        if group.guarded and not self._watched.group(group.name).crds:
            await Policy(self._clients.host, group.name, group.service).delete()
            self._watched.guarded.discard(group.name)
        recount = await follow_stored_versions(self._clients, self._watched, self._watched.group(group.name), reporter)
        await show_mirror_conditions(self._clients.host, self._watched, self._watched.group(group.name))
        soon = _UNAVAILABLE_GRACE_SECONDS if group.name in self._unavailable and not reporter.obstacle else None
        later = _OBSTACLE_RETRY_SECONDS if reporter.obstacle or planned.foreign else None
        return min((seconds for seconds in (desired.after, soon, later, recount) if seconds is not None), default=None)

    async def _adopt(self, group: GroupState, reporter: GroupReporter) -> tuple[Desired, bool]:
        """Run the adoption steps; return the desired routing, and whether the steps decided it."""
        if not group.crds:
            return Desired(routing=Routing.AS_IT_IS), False
        if not (group.selected or group.held or group.mirrors or group.guarded):
            return Desired(routing=Routing.AS_IT_IS if group.own else Routing.HOST), False
        foreign = plan(group, Routing.APIEXT, self._target()).foreign
        if foreign:
            await reporter.condition(group.reported.values(), ConditionReason.BLOCKED, foreign_message(foreign[0]))
            await self._release_finalizers(group)
            return Desired(routing=Routing.AS_IT_IS, after=_OBSTACLE_RETRY_SECONDS), False
        desired = await reconcile_group(Transition(group, self._clients, reporter, self._watched, self._registrar))
        if desired.routing is Routing.APIEXT:
            self._watched.guarded.add(group.name)
        return desired, True

    async def _release_finalizers(self, group: GroupState) -> None:
        """Remove the finalizer from terminating definitions without a mirror, in a group that stays unchanged."""
        for crd in group.held.values():
            if not crd["metadata"].get("deletionTimestamp"):
                continue
            name = crd["metadata"]["name"]
            mirror = await self._clients.apiext.find(f"{CRDS}/{name}")
            if mirror is not None and annotations_of(mirror).get(host_annotations.HOST_UID) == crd["metadata"]["uid"]:
                continue
            self._watched.crds.put(name, await release(self._clients.host, crd))

    async def _obstacle(self, group: GroupState) -> str:
        """Return the reason why requests do not reach apiext, empty if they do, or during the grace period."""
        wrong = {step.name for step in plan(group, Routing.AS_IT_IS, self._target()).steps if step.action is Action.REPAIR}
        found = unavailable(group, self._target())
        if found is None or found["metadata"]["name"] in wrong:
            self._unavailable.pop(group.name, None)
            return ""
        since = self._unavailable.setdefault(group.name, self._clock())
        if self._clock() < since + _UNAVAILABLE_GRACE_SECONDS:
            return ""
        name, reason = found["metadata"]["name"], available(found)[1]
        message = f"APIService {name} is not available: {await self._diagnose(group.name) or reason}"
        await self._recorder.record(found, "NotAvailable", message, warning=True)
        return message
