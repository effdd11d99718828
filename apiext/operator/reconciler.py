"""One look at one group: its way to apiext or back, its APIServices, and what is said of both."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from apiext.meta import host_annotations
from apiext.meta.log import get_logger
from apiext.operator import host_definitions
from apiext.operator.adoption.reconcile import forget_group, reconcile_group
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiError
from apiext.operator.apiservices.plan import Act, available, plan, unavailable
from apiext.operator.apiservices.registrar import Registrar, foreign_message
from apiext.operator.group_state import Desired, Routing, annotations_of
from apiext.operator.reporting.group_reporter import GroupReporter
from apiext.operator.reporting.reporter import Reason

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.operator.api_clients import Clients, Json
    from apiext.operator.apiservices.plan import Target
    from apiext.operator.group_state import GroupState
    from apiext.operator.reporting.event_recorder import Recorder
    from apiext.operator.watched_state import Watched

_LOG: Final = get_logger(__name__)
_SOON: Final = 0.5
_OBSTACLE: Final = 30.0
"""Seconds after which it is looked again at what cannot be reached, and at what somebody else has."""
_GRACE: Final = 2.0
"""Seconds for which something may be unavailable: the host looks some time after a change."""
_PATIENT: Final = frozenset({0, 409, 429, 500, 502, 503, 504})
"""Codes of what often passes by itself; a condition speaks of it when it does not."""
_FAILURES: Final = 3


class Reconciler:
    """Looks at groups; `diagnose` says which hop on the way to a group is broken, empty where it finds none."""

    def __init__(
        self,
        clients: Clients,
        watched: Watched,
        recorder: Recorder,
        target: Callable[[], Target],
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

    async def look(self, name: str) -> float | None:
        """Do what is due for a group; the seconds until the next look that it needs. Raises ApiError."""
        if not self._watched.concerns(name, self._target()):
            for kept in (self._reporters, self._failures, self._unavailable):
                kept.pop(name, None)
            return None
        reporter = self._reporter(name)
        try:
            after = await self._looked(self._watched.group(name), reporter)
        except ApiError as error:
            await self._failed(name, reporter, error)
            raise
        self._failures.pop(name, None)
        return after

    async def _looked(self, group: GroupState, reporter: GroupReporter) -> float | None:
        if group.taken_by:
            for crd in group.selected.values():
                await reporter.event(
                    crd, "LeftAlone", f"group {group.name} is with the apiext behind Service {group.taken_by}", warning=True
                )
            return _OBSTACLE
        reporter.obstacle = await self._obstacle(group)
        if not self._watched.known:
            # it says why, where it does not answer
            await self._clients.apiext.get(f"{CRDS}?limit=1")
            return _SOON
        desired, asked = await self._adopted(group, reporter)
        await self._let_go(self._watched.group(group.name))
        await self._remember_stored(self._watched.group(group.name))
        planned = await self._registrar.keep(group.name, desired.routing, asked=asked)
        for found in planned.foreign:
            await reporter.event(found, "LeftAlone", foreign_message(found), warning=True)
        for version in planned.kept:
            await self._tell_kept(group.name, version, reporter)
        if group.guarded and not self._watched.group(group.name).crds:
            await forget_group(group.name, self._clients)
            self._watched.guarded.discard(group.name)
        soon = _GRACE if group.name in self._unavailable and not reporter.obstacle else None
        later = _OBSTACLE if reporter.obstacle or planned.foreign else None
        return min((seconds for seconds in (desired.after, soon, later) if seconds is not None), default=None)

    async def _adopted(self, group: GroupState, reporter: GroupReporter) -> tuple[Desired, bool]:
        """Who should serve the group, and whether its own steps say so."""
        if not group.crds:
            return Desired(routing=Routing.AS_IT_IS), False
        if not (group.selected or group.held or group.mirrors or group.guarded):
            return Desired(routing=Routing.AS_IT_IS if group.own else Routing.HOST), False
        foreign = plan(group, Routing.APIEXT, self._target()).foreign
        if foreign:
            await reporter.condition(group.selected.values(), Reason.BLOCKED, foreign_message(foreign[0]))
            return Desired(routing=Routing.AS_IT_IS, after=_OBSTACLE), False
        hands = Hands(group.name, self._clients, self._watched, self._registrar)
        desired = await reconcile_group(group, self._clients, reporter, hands)
        if desired.routing is Routing.APIEXT:
            self._watched.guarded.add(group.name)
        return desired, True

    async def _let_go(self, group: GroupState) -> None:
        """Definitions that are being deleted may go when apiext has no copy of them any more, and with it no instances."""
        for crd in group.held.values():
            if not crd["metadata"].get("deletionTimestamp"):
                continue
            name = crd["metadata"]["name"]
            mirror = await self._clients.apiext.find(f"{CRDS}/{name}")
            if mirror is not None and annotations_of(mirror).get(host_annotations.HOST_UID) == crd["metadata"]["uid"]:
                continue
            self._learnt(await host_definitions.amend(self._clients.host, crd, host_definitions.release), crd)
            _LOG.info("a definition that is being deleted is let go", crd=name)

    async def _remember_stored(self, group: GroupState) -> None:
        """Versions that objects are stored in at apiext must not be taken from the host's definition."""
        for name, mirror in group.mirrors.items():
            crd = group.crds.get(name)
            if crd is not None and annotations_of(mirror).get(host_annotations.HOST_UID) == crd["metadata"]["uid"]:
                versions = list((mirror.get("status") or {}).get("storedVersions") or ())
                self._learnt(await host_definitions.amend(self._clients.host, crd, host_definitions.stored(versions), status=True), crd)

    async def _obstacle(self, group: GroupState) -> str:
        """What keeps the group's requests from apiext, empty where nothing does, or only for a moment."""
        wrong = {step.name for step in plan(group, Routing.AS_IT_IS, self._target()).steps if step.act is Act.REPAIR}
        found = unavailable(group, self._target())
        if found is None or found["metadata"]["name"] in wrong:
            self._unavailable.pop(group.name, None)
            return ""
        since = self._unavailable.setdefault(group.name, self._clock())
        if self._clock() < since + _GRACE:
            return ""
        name, said = found["metadata"]["name"], available(found)[1]
        message = f"APIService {name} is not available: {await self._diagnose(group.name) or said}"
        await self._recorder.record(found, "NotAvailable", message, warning=True)
        return message

    async def _tell_kept(self, group: str, version: str, reporter: GroupReporter) -> None:
        found = self._watched.group(group).api_services.get(f"{version}.{group}")
        message = f"apiext has definitions of {group}/{version}, too, which kube-apiserver serves: they are not registered"
        if found is not None:
            await reporter.event(found, "LeftAlone", message, warning=True)

    async def _failed(self, name: str, reporter: GroupReporter, error: ApiError) -> None:
        self._failures[name] = self._failures.get(name, 0) + 1
        if error.code not in _PATIENT or self._failures[name] >= _FAILURES:
            await reporter.condition(self._watched.group(name).selected.values(), Reason.FAILED, str(error))

    def _reporter(self, name: str) -> GroupReporter:
        if name not in self._reporters:
            self._reporters[name] = GroupReporter(self._clients.host, self._recorder, self._watched.crds.changed)
        return self._reporters[name]

    def _learnt(self, after: Json | None, before: Json) -> None:
        if after is None:
            self._watched.crds.gone(before["metadata"]["name"])
        elif after is not before:
            self._watched.crds.changed(after)


class Hands:
    """See group.Hands: what the steps of one group may ask for."""

    def __init__(self, group: str, clients: Clients, watched: Watched, registrar: Registrar) -> None:
        self._group = group
        self._clients = clients
        self._watched = watched
        self._registrar = registrar

    async def read(self) -> GroupState:
        """See group.Hands."""
        known = self._watched.group(self._group)
        for name in known.crds:
            found = await self._clients.host.find(f"{CRDS}/{name}")
            self._watched.crds.gone(name) if found is None else self._watched.crds.changed(found)
        for name in known.api_services:
            found = await self._clients.host.find(f"{API_SERVICES}/{name}")
            self._watched.api_services.gone(name) if found is None else self._watched.api_services.changed(found)
        for name in {**known.crds, **known.definitions}:
            found = await self._clients.apiext.find(f"{CRDS}/{name}")
            self._watched.definitions.gone(name) if found is None else self._watched.definitions.changed(found)
        return self._watched.group(self._group)

    async def route(self, routing: Routing) -> None:
        """See group.Hands."""
        await self.read()
        await self._registrar.route(self._group, routing)
