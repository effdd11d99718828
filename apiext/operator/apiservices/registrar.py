"""Does to APIServices what a plan says. Nothing is given up that apiext, asked anew, still serves; where it does not answer nothing is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.meta.log import get_logger
from apiext.operator.api_clients import API_SERVICES, CRDS, ApiError
from apiext.operator.apiservices.plan import Act, plan
from apiext.operator.group_state import Routing, served_versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.operator.api_clients import Clients, Json
    from apiext.operator.apiservices.plan import Plan, Step, Target
    from apiext.operator.reporting.event_recorder import Recorder
    from apiext.operator.watched_state import Watched

_LOG: Final = get_logger(__name__)
_ROUNDS: Final = 10


class Registrar:
    """Writes APIServices, and tells of it."""

    def __init__(self, clients: Clients, watched: Watched, recorder: Recorder, target: Callable[[], Target]) -> None:
        self._clients = clients
        self._watched = watched
        self._recorder = recorder
        self._target = target

    async def keep(self, group: str, routing: Routing, *, asked: bool) -> Plan:
        """Have the APIServices of a group so; `asked` tells that what the host serves again was decided by the group's own steps.

        What was planned is told. Raises ApiError.
        """
        planned = plan(self._watched.group(group), routing, self._target())
        for step in planned.steps:
            if step.act in {Act.REMOVE, Act.GIVE_BACK} and not (asked and step.act is Act.GIVE_BACK):
                await self._give_up(group, step)
            else:
                await self._do(group, step)
        return planned

    async def route(self, group: str, routing: Routing) -> None:
        """Have them so at once, whatever it takes. Raises ApiError."""
        for _ in range(_ROUNDS):
            planned = await self.keep(group, routing, asked=True)
            if planned.foreign:
                raise ApiError(foreign_message(planned.foreign[0]))
            if not planned.steps:
                return
        raise ApiError(f"the APIServices of group {group} are changed by somebody else all the time")

    async def _give_up(self, group: str, step: Step) -> None:
        if not await self._is_served(group, step.version):
            await self._do(group, step)

    async def _is_served(self, group: str, version: str) -> bool:
        """What apiext itself says now, whatever was known before. Raises ApiError."""
        found = await self._clients.apiext.items(CRDS)
        return version in served_versions(one for one in found if one["spec"]["group"] == group)

    async def _do(self, group: str, step: Step) -> None:
        path = f"{API_SERVICES}/{step.name}"
        host, known = self._clients.host, self._watched.api_services
        try:
            if step.act is Act.REGISTER:
                after = await host.post(API_SERVICES, step.body)
                known.changed(after)
            elif step.act is Act.REMOVE:
                await host.delete(path, step.body)
                known.gone(step.name)
                after = step.before or {}
            else:
                after = await host.patch(path, step.body)
                known.changed(after)
        except ApiError as error:
            if error.code not in {404, 409}:
                raise
            await self._learn(step.name)
            return
        message = _message(group, step)
        _LOG.info("an APIService has changed", name=step.name, act=step.act.value, fields=list(step.fields))
        await self._recorder.record(after, step.act.value, message)

    async def _learn(self, name: str) -> None:
        """Somebody was faster: know what it has become, which has the group looked at again."""
        found: Json | None = await self._clients.host.find(f"{API_SERVICES}/{name}")
        if found is None:
            self._watched.api_services.gone(name)
        else:
            self._watched.api_services.changed(found)


def foreign_message(found: Json) -> str:
    """Why an APIService is left alone, and what to do."""
    name, service = found["metadata"]["name"], found["spec"].get("service")
    whose = f"points at Service {service['namespace']}/{service['name']}" if service else "is kube-apiserver's own"
    return f"APIService {name} {whose} and is left alone; delete it to have apiext serve {found['spec']['version']} of its group"


def _message(group: str, step: Step) -> str:
    api = f"{group}/{step.version}"
    return {
        Act.REGISTER: f"Requests of {api} go to apiext",
        Act.TAKE_OVER: f"Requests of {api} go to apiext, and no longer to kube-apiserver's own storage",
        Act.REPAIR: f"Put right: {', '.join(step.fields)}",
        Act.GIVE_BACK: f"kube-apiserver serves {api} itself again",
        Act.REMOVE: f"No definition serves {api} any more",
    }[step.act]
