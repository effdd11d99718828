"""The context of one attempt to move a group: its last known state, the clients, and the reports."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from apiext.meta.host_annotations import REVISION_BASE
from apiext.meta.tasks import end_tasks
from apiext.operator.adoption.admission_policy import Policy
from apiext.operator.adoption.eligibility import is_meant
from apiext.operator.adoption.object_pages import AdoptedResource, ObjectLister, resource
from apiext.operator.adoption.polling import until
from apiext.operator.adoption.progress import Progress
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing
from apiext.operator.reporting.reporter import ConditionReason

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping

    from apiext.operator.api_clients import Clients, Json
    from apiext.operator.group_state import GroupActions, GroupState
    from apiext.operator.reporting.reporter import Reporter

_CHECK_SECONDS: Final = 1.0
"""Interval of the check whether a take-over is still wanted."""


class TransitionAbortedError(Exception):
    """The definitions changed, and the present step is not wanted any more."""


class Transition:
    """One attempt to move a group to apiext or to the host."""

    def __init__(
        self,
        group: GroupState,
        clients: Clients,
        report: Reporter,
        actions: GroupActions,
        *,
        settle_seconds: float = 2.0,
        client_restart_seconds: float = 5.0,
    ) -> None:
        self.group = group
        self.clients = clients
        self.actions = actions
        self.settle_seconds = settle_seconds
        """Pause between two equal lists of the host: requests that were admitted before the policy was enforced end within it."""
        self.client_restart_seconds = client_restart_seconds
        """Time for clients to notice that they have to list again: those between two watches come back within it."""
        self.policy = Policy(clients.host, group.name, group.service)
        self._report = report

    @property
    def live(self) -> dict[str, Json]:
        """Definitions of the host that are not being deleted."""
        return {name: crd for name, crd in self.group.crds.items() if name not in self.group.terminating}

    @property
    def plurals(self) -> list[str]:
        """The resources that the policy has to cover."""
        return [crd["spec"]["names"]["plural"] for crd in self.live.values()]

    def phases(self, names: Iterable[str], *phases: str | None) -> list[str]:
        """Return the definitions whose mirrors are in one of the phases; None stands for no mirror."""
        return sorted(name for name in names if self.group.phase(name) in phases)

    def resources(self, names: Iterable[str]) -> dict[str, AdoptedResource]:
        """Return the resource of each definition that has a served version."""
        found = {name: resource(self.group.crds[name]) for name in sorted(names)}
        return {name: one for name, one in found.items() if one is not None}

    async def read(self) -> None:
        """Read the group again. Raises ApiError."""
        self.group = await self.actions.read()

    def is_still_wanted(self, names: Iterable[str]) -> bool:
        """Return whether exactly these definitions are live, and all of them are meant for apiext."""
        return self.live.keys() == set(names) and all(is_meant(self.group, name) for name in self.live)

    async def run_while_wanted(self, names: list[str], work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine, and cancel it when the take-over of these definitions is not wanted any more.

        Raises:
            TransitionAbortedError: it is not wanted any more.
            Exception: the coroutine failed.
        """
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait((task,), timeout=_CHECK_SECONDS))[0]:
                await self.read()
                if not self.is_still_wanted(names):
                    raise TransitionAbortedError
        finally:
            await end_tasks(task)
        await task
        await self.read()
        if not self.is_still_wanted(names):
            raise TransitionAbortedError

    async def until(self, holds: Callable[[GroupState], bool], otherwise: str) -> None:
        """Read the group until a condition holds. Raises ApiError with the message `otherwise` after a timeout."""

        async def read() -> bool:
            await self.read()
            return holds(self.group)

        await until(read, lambda: otherwise)

    async def report(self, reason: ConditionReason, message: str, crds: Mapping[str, Json] | None = None) -> None:
        """Set the condition on definitions of the host, by default on all that are selected or have the finalizer."""
        await self._report.condition((self.group.selected | self.group.held if crds is None else crds).values(), reason, message)

    async def warn(self, reason: str, message: str, crds: Iterable[Json]) -> None:
        """Record a warning about definitions of the host."""
        for crd in crds:
            await self._report.event(crd, reason, message, warning=True)

    def progress(self, reason: ConditionReason, template: str) -> Progress:
        """Return a Progress that sets the condition, with a template such as "copied {done} of {total} objects"."""

        async def report(message: str) -> None:
            await self.report(reason, message)

        return Progress(report, f"{self.group.name}: {template}", template)

    async def route(self, routing: Routing, names: Iterable[str]) -> None:
        """Let the host route the group, and wait until it does for all versions of these definitions. Raises ApiError."""
        await self.actions.route(routing)
        await self.wait_until_routed(routing, names)

    async def wait_until_routed(self, routing: Routing, names: Iterable[str]) -> None:
        """Wait until the host routes all versions of these definitions. Raises ApiError after a timeout."""
        for one in _all_versions(self.group.crds[name] for name in names):
            await self._wait_until_routed(one, to_apiext=routing is Routing.APIEXT)

    async def _wait_until_routed(self, of: AdoptedResource, *, to_apiext: bool) -> None:
        lister, last_error = ObjectLister(self.clients.host, of), ""

        async def holds() -> bool:
            nonlocal last_error
            try:
                return await lister.is_by_apiext() is to_apiext
            except ApiError as error:
                last_error = f" ({error})"
                return False

        await until(holds, lambda: f"the host does not send requests of {of.path} to {'apiext' if to_apiext else 'itself'}{last_error}")

    def on_host(self, of: AdoptedResource, progress: Callable[[int, int], None] = lambda _done, _total: None) -> ObjectLister:
        """Return a lister of a resource in the host's own store."""
        return ObjectLister(self.clients.host, of, below=REVISION_BASE, progress=progress)

    def in_apiext(self, of: AdoptedResource, progress: Callable[[int, int], None] = lambda _done, _total: None) -> ObjectLister:
        """Return a lister of a resource in apiext."""
        return ObjectLister(self.clients.apiext, of, progress=progress)


def _all_versions(crds: Iterable[Json]) -> list[AdoptedResource]:
    """Return one resource for each served version."""
    found = {}
    for crd in crds:
        for version in crd["spec"]["versions"]:
            if version.get("served"):
                name, spec = version["name"], crd["spec"]
                found[name] = AdoptedResource(crd["metadata"]["name"], spec["group"], name, spec["names"]["plural"], name)
    return list(found.values())
