"""The context of one attempt to move a group: its last known state, the clients, and the reporter."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from typing import Any, Final, Self

from apiext.base.meta import host_annotations
from apiext.base.meta.host_annotations import REVISION_BASE
from apiext.base.scheduling.tasks import end_tasks
from apiext.operator.adoption.admission_policy import Policy
from apiext.operator.adoption.object_pages import AdoptedResource, OnPage, is_by_apiext, list_objects, no_progress, resource, resource_in
from apiext.operator.adoption.polling import until
from apiext.operator.adoption.store_diff import StoredObject
from apiext.operator.api_clients import ApiError, Clients, Json
from apiext.operator.apiservices.registrar import Registrar
from apiext.operator.group_state import GroupState, Routing, annotations_of, is_established, served_versions
from apiext.operator.host_definitions import ConditionReason
from apiext.operator.reporting.group_reporter import GroupReporter
from apiext.operator.watched_state import WatchedState

CHECK_SECONDS: Final = 1.0
"""Interval of the check whether a take-over is still wanted."""


_INTERVAL_SECONDS: Final = 1.0


def is_meant_for_apiext(group: GroupState, name: str) -> bool:
    """Return whether a definition of the host is selected, and its hand-over is not requested."""
    return name in group.selected and not host_annotations.wants_hand_over(annotations_of(group.crds[name]))


def blocking_reason(group: GroupState) -> str:
    """Return why apiext cannot serve the group, and the remedy; empty if it can."""
    return "; ".join(_reasons(group))


def _reasons(group: GroupState) -> Iterator[str]:
    terminating = group.terminating.keys()
    if unselected := sorted(group.unselected.keys() - terminating):
        yield f"all definitions of a group are served by one server: label {', '.join(unselected)} too, or none"
    if terminating and not group.adopted:
        yield f"the host is deleting {', '.join(sorted(terminating))}, and clients need the group there until it has: wait"
    for name, crd in sorted(group.selected.items()):
        if name in terminating:
            continue
        if not served_versions([crd]):
            yield f"{name} has no served version, so its objects cannot be read"
        if not is_established(crd):
            yield f"{name} is not established by the host: see its conditions"


class Progress:
    """Reports the numbers of finished and of all objects, while the context is open and once after success."""

    def __init__(self, report: Callable[[str], Awaitable[None]], title: str, template: str) -> None:
        self._report = report
        self._title = title.partition(" {")[0]
        self._template = template
        self._done: dict[str, tuple[int, int]] = {}
        self._reported = ""
        self._task: asyncio.Task[None] | None = None
        self._bar: Any = None

    def of(self, name: str) -> Callable[[int, int], None]:
        """Return the callback of one part; its arguments are the numbers of finished and of all objects."""

        def update(done: int, total: int) -> None:
            self._done[name] = (done, total)
            if self._bar is not None:
                now, all_ = self._sums()
                self._bar.update(self._bar.task_ids[0], completed=now, total=all_ or None)

        return update

    async def __aenter__(self) -> Self:
        if sys.stderr.isatty():
            self._bar = _bar(self._title)
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if self._task is not None:
            await end_tasks(self._task)
        if _exc[0] is None:
            await self._report_sums()

    async def _run(self) -> None:
        while True:
            await self._report_sums()
            await asyncio.sleep(_INTERVAL_SECONDS)

    async def _report_sums(self) -> None:
        done, total = self._sums()
        message = self._template.format(done=done, total=total)
        if message != self._reported and self._done:
            self._reported = message
            await self._report(message)

    def _sums(self) -> tuple[int, int]:
        return sum(done for done, _ in self._done.values()), sum(total for _, total in self._done.values())


def _bar(title: str) -> Any:
    """Return a started progress bar, which is erased at the end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.add_task(title, total=None)
    bar.start()
    return bar


class TransitionAbortedError(Exception):
    """The definitions changed, and the present step is not wanted any more."""


class Transition:
    """One attempt to move a group to apiext or to the host."""

    def __init__(self, group: GroupState, clients: Clients, reporter: GroupReporter, watched: WatchedState, registrar: Registrar) -> None:
        self.group = group
        self.clients = clients
        self.reporter = reporter
        self._watched = watched
        self._registrar = registrar
        self.policy = Policy(clients.host, group.name, group.service, registrar.target)

    @property
    def live(self) -> dict[str, Json]:
        """Definitions of the host that are not being deleted."""
        return {name: crd for name, crd in self.group.crds.items() if name not in self.group.terminating}

    @property
    def plurals(self) -> list[str]:
        """The resources that the policy must cover."""
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
        self.group = await self._watched.refresh(self.group.name, self.clients)

    def is_still_wanted(self, names: Iterable[str]) -> bool:
        """Return whether exactly these definitions are live, and all of them are meant for apiext."""
        return self.live.keys() == set(names) and all(is_meant_for_apiext(self.group, name) for name in self.live)

    async def run_while_wanted(self, names: list[str], work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine; cancel it if the take-over of these definitions is not wanted any more.

        Raises:
            TransitionAbortedError: it is not wanted any more.
            Exception: the coroutine failed.
        """
        task = asyncio.create_task(work)
        try:
            while not (await asyncio.wait((task,), timeout=CHECK_SECONDS))[0]:
                await self.read()
                if not self.is_still_wanted(names):
                    raise TransitionAbortedError
        finally:
            await end_tasks(task)
        await task
        await self.read()
        if not self.is_still_wanted(names):
            raise TransitionAbortedError

    async def report(self, reason: ConditionReason, message: str, crds: Mapping[str, Json] | None = None) -> None:
        """Set the condition on definitions of the host, by default on all live ones that are selected, adopted or have the finalizer."""
        default = {name: crd for name, crd in self.group.reported.items() if name not in self.group.terminating}
        await self.reporter.condition((default if crds is None else crds).values(), reason, message)

    def progress(self, reason: ConditionReason, template: str) -> Progress:
        """Return a Progress that sets the condition, with a template such as "objects copied: {done} of {total}"."""

        async def report(message: str) -> None:
            await self.report(reason, message)

        return Progress(report, f"{self.group.name}: {template}", template)

    async def route(self, routing: Routing, names: Iterable[str] = ()) -> None:
        """Let the host route the group, and wait until it does for all versions of these definitions. Raises ApiError."""
        await self._registrar.route(self.group.name, routing)
        await self.wait_until_routed(routing, names)

    async def wait_until_routed(self, routing: Routing, names: Iterable[str]) -> None:
        """Wait until the host routes all versions of these definitions. Raises ApiError after a timeout."""
        for one in served_resources(self.group.crds[name] for name in names):
            await self._wait_until_routed(one, to_apiext=routing is Routing.APIEXT)

    async def _wait_until_routed(self, of: AdoptedResource, *, to_apiext: bool) -> None:
        last_error = ""

        async def holds() -> bool:
            nonlocal last_error
            try:
                return await is_by_apiext(self.clients.host, of) is to_apiext
            except ApiError as error:
                last_error = f" ({error})"
                return False

        await until(holds, lambda: f"the host does not send requests of {of.path} to {'apiext' if to_apiext else 'itself'}{last_error}")

    def on_host(self, of: AdoptedResource, progress: OnPage = no_progress) -> AsyncGenerator[StoredObject, None]:
        """Return the objects of a resource in the host's own store."""
        return list_objects(self.clients.host, of, below=REVISION_BASE, progress=progress)

    def in_apiext(self, of: AdoptedResource, progress: OnPage = no_progress) -> AsyncGenerator[StoredObject, None]:
        """Return the objects of a resource in apiext."""
        return list_objects(self.clients.apiext, of, progress=progress)


def served_resources(crds: Iterable[Json]) -> list[AdoptedResource]:
    """Return one resource for each served version."""
    served = [(version["name"], crd) for crd in crds for version in crd["spec"]["versions"] if version.get("served")]
    return [resource_in(version, crd) for version, crd in dict(served).items()]
