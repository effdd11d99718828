"""Writes the planned changes of APIServices. Gives up a version only if apiext confirms that it does not serve the version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from apiext.base.meta.log import get_logger
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiError, Clients, Json
from apiext.operator.apiservice_owner import ServiceTarget
from apiext.operator.apiservices.plan import Action, APIServiceStep, Plan, plan
from apiext.operator.group_state import Routing, served_versions
from apiext.operator.reporting.event_recorder import EventRecorder
from apiext.operator.watched_state import WatchedState

_LOG: Final = get_logger(__name__)
_MAX_ROUNDS: Final = 10
"""Attempts to write APIServices while other clients change them."""


class Registrar:
    """Writes APIServices, and records an event for each change. All methods raise ApiError."""

    def __init__(self, clients: Clients, watched: WatchedState, recorder: EventRecorder, target: Callable[[], ServiceTarget]) -> None:
        self._clients = clients
        self._watched = watched
        self._recorder = recorder
        self.target = target
        """Returns the Service of apiext at present."""

    async def apply(self, group: str, routing: Routing, *, decided: bool) -> Plan:
        """Write the APIServices of a group for a routing, and return the plan.

        With `decided`, the adoption steps have confirmed the versions that the host serves again, so there is no request to apiext.

        Raises:
            ApiError: a call failed.
        """
        planned = plan(self._watched.group(group), routing, self.target())
        for step in planned.steps:
            given_up = step.action is Action.REMOVE or (step.action is Action.GIVE_BACK and not decided)
            if not given_up or not await self._is_served(group, step.version):
                await self._write(group, step)
        return planned

    async def route(self, group: str, routing: Routing) -> None:
        """Read the group, and `apply` until no change is left. Raises ApiError, also for a foreign APIService and after 10 rounds."""
        await self._watched.refresh(group, self._clients)
        for _ in range(_MAX_ROUNDS):
            planned = await self.apply(group, routing, decided=True)
            if planned.foreign:
                raise ApiError(foreign_message(planned.foreign[0]))
            if not planned.steps:
                return
        raise ApiError(f"other clients keep changing the APIServices of group {group}")

    async def _is_served(self, group: str, version: str) -> bool:
        """Ask apiext whether it serves a version. Raises ApiError."""
        found = await self._clients.apiext.items(CRDS)
        return version in served_versions(one for one in found if one["spec"]["group"] == group)

    async def _write(self, group: str, step: APIServiceStep) -> None:
        path = f"{API_SERVICES}/{step.name}"
        host, known = self._clients.host, self._watched.api_services
        try:
            if step.action is Action.REGISTER:
                after = await host.post(API_SERVICES, step.body)
            elif step.action is Action.REMOVE:
                await host.delete(path, step.body)
                after = step.before
            else:
                after = await host.patch(path, step.body)
        except ApiError as error:
            if error.code not in {404, 409}:
                raise
            # another client changed it: `put` triggers another reconciliation
            known.put(step.name, await host.find(path))
            return
        known.put(step.name, None if step.action is Action.REMOVE else after)
        message = _message(group, step)
        _LOG.info("APIService changed", name=step.name, action=step.action.value, fields=list(step.fields))
        await self._recorder.record(after, step.action.value, message)


def foreign_message(found: Json) -> str:
    """Return why an APIService is not changed, and the remedy."""
    name, service = found["metadata"]["name"], found["spec"].get("service")
    target = f"points at Service {service['namespace']}/{service['name']}" if service else "is kube-apiserver's own"
    return f"APIService {name} {target} and is left alone; delete it to have apiext serve {found['spec']['version']} of its group"


def _message(group: str, step: APIServiceStep) -> str:
    api = f"{group}/{step.version}"
    return {
        Action.REGISTER: f"Requests of {api} go to apiext",
        Action.TAKE_OVER: f"Requests of {api} go to apiext, and no longer to kube-apiserver's own storage",
        Action.REPAIR: f"Repaired: {', '.join(step.fields)}",
        Action.GIVE_BACK: f"kube-apiserver serves {api} itself again",
        Action.REMOVE: f"No definition serves {api} any more",
    }[step.action]
