"""What every step of a group's way needs: the group as it was read last, whom to ask and whom to tell."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from apiext.meta.host_annotations import REVISION_BASE
from apiext.meta.tasks import end_tasks
from apiext.operator.adoption.admission_policy import Policy
from apiext.operator.adoption.eligibility import is_meant
from apiext.operator.adoption.object_pages import Collection, Resource, resource
from apiext.operator.adoption.polling import until
from apiext.operator.adoption.progress import Progress
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing
from apiext.operator.reporting.reporter import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from apiext.operator.api_clients import Clients, Json
    from apiext.operator.group_state import GroupState, Hands
    from apiext.operator.reporting.reporter import Reporter

_LOOK: Final = 1.0
"""Seconds between looks at whether something is still wanted."""


class TurnedBackError(Exception):
    """What was being done is not asked for any more."""


class Way:
    """One group on its way, in one attempt. `settle` and `leave` are in seconds."""

    def __init__(
        self, group: GroupState, clients: Clients, report: Reporter, hands: Hands, *, settle: float = 2.0, leave: float = 5.0
    ) -> None:
        self.group = group
        self.clients = clients
        self.hands = hands
        self.settle = settle
        """Between two lists of the host that must be equal: the time for a request that was let in before the policy bit, to be done."""
        self.leave = leave
        """For clients to notice that they must begin anew: those between two watches come back within it."""
        self.policy = Policy(clients.host, group.name, group.service)
        self._report = report

    @property
    def live(self) -> dict[str, Json]:
        """Definitions of the host that are not being deleted."""
        return {name: crd for name, crd in self.group.crds.items() if name not in self.group.terminating}

    @property
    def plurals(self) -> list[str]:
        """The resources of the group that the policy is about."""
        return [crd["spec"]["names"]["plural"] for crd in self.live.values()]

    def phases(self, names: Iterable[str], *phases: str | None) -> list[str]:
        """Those definitions whose mirrors are in one of some phases; None: that have no mirror."""
        return sorted(name for name in names if self.group.phase(name) in phases)

    def resources(self, names: Iterable[str]) -> dict[str, Resource]:
        """What can be listed, by definition."""
        found = {name: resource(self.group.crds[name]) for name in sorted(names)}
        return {name: one for name, one in found.items() if one is not None}

    async def read(self) -> None:
        """Read the group anew. Raises ApiError."""
        self.group = await self.hands.read()

    def is_wanted(self, names: Iterable[str]) -> bool:
        """Whether just these definitions of the group are live, and all of them ask to be served by apiext."""
        return self.live.keys() == set(names) and all(is_meant(self.group, name) for name in self.live)

    async def while_wanted(self, names: list[str], work: Coroutine[Any, Any, None]) -> None:
        """Do some work, and break it off where it is not wanted any more. Raises TurnedBackError, and what the work raises."""
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait((task,), timeout=_LOOK))[0]:
                await self.read()
                if not self.is_wanted(names):
                    raise TurnedBackError
        finally:
            await end_tasks(task)
        await task
        await self.read()
        if not self.is_wanted(names):
            raise TurnedBackError

    async def until(self, holds: Callable[[GroupState], bool], otherwise: str) -> None:
        """Read the group until it is as it should be. Raises ApiError with `otherwise` where it does not come to that."""

        async def read() -> bool:
            await self.read()
            return holds(self.group)

        await until(read, lambda: otherwise)

    async def tell(self, reason: Reason, message: str, crds: Mapping[str, Json] | None = None) -> None:
        """Say on the host's definitions what is done."""
        await self._report.condition((self.group.selected | self.group.held if crds is None else crds).values(), reason, message)

    async def warn(self, reason: str, message: str, crds: Iterable[Json]) -> None:
        """Record a warning about definitions of the host."""
        for crd in crds:
            await self._report.event(crd, reason, message, warning=True)

    def progress(self, reason: Reason, words: str) -> Progress:
        """Tell how far something has come, with words such as "copied {done} of {total} objects"."""

        async def tell(message: str) -> None:
            await self.tell(reason, message)

        return Progress(tell, f"{self.group.name}: {words}", words)

    async def route(self, routing: Routing, names: Iterable[str]) -> None:
        """Have the host route the group, and return when it does for all versions of some definitions. Raises ApiError."""
        await self.hands.route(routing)
        await self.routed(routing, names)

    async def routed(self, routing: Routing, names: Iterable[str]) -> None:
        """Return when the host routes all versions of some definitions so. Raises ApiError."""
        for one in _all_versions(self.group.crds[name] for name in names):
            await self._routed(one, to_apiext=routing is Routing.APIEXT)

    async def _routed(self, of: Resource, *, to_apiext: bool) -> None:
        collection, said = Collection(self.clients.host, of), ""

        async def holds() -> bool:
            nonlocal said
            try:
                return await collection.is_by_apiext() is to_apiext
            except ApiError as error:
                said = f" ({error})"
                return False

        await until(holds, lambda: f"the host does not send requests of {of.path} to {'apiext' if to_apiext else 'itself'}{said}")

    def hosts(self, of: Resource, progress: Callable[[int, int], None] = lambda _done, _total: None) -> Collection:
        """A resource as the host's own store has it."""
        return Collection(self.clients.host, of, below=REVISION_BASE, progress=progress)

    def apiexts(self, of: Resource, progress: Callable[[int, int], None] = lambda _done, _total: None) -> Collection:
        """A resource as apiext has it."""
        return Collection(self.clients.apiext, of, progress=progress)


def _all_versions(crds: Iterable[Json]) -> list[Resource]:
    """One resource of each version that is served."""
    found = {}
    for crd in crds:
        for version in crd["spec"]["versions"]:
            if version.get("served"):
                name, spec = version["name"], crd["spec"]
                found[name] = Resource(crd["metadata"]["name"], spec["group"], name, spec["names"]["plural"], name)
    return list(found.values())
