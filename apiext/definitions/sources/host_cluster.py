"""Definitions of a host cluster, followed for as long as the server runs (`--crd-selector`).

A definition that is selected gets a mirror here, which follows the host's from then on, also when it is not selected any more;
it is deleted when the host's has been seen terminating. What merely disappears takes nothing with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

from apiext.definitions.sources.host_definition import HostDefinition, MirrorError, OlderStateError, hosted
from apiext.definitions.workqueue import WorkQueue
from apiext.meta import background, time
from apiext.meta.errors import StatusError
from apiext.meta.host_annotations import HOST_UID
from apiext.meta.log import get_logger
from apiext.meta.tasks import end_tasks
from apiext.storage.backend import BackendError
from apiext.storage.interface import StorageError
from apiext.webhook.client import WebhookError
from apiext.webhook.reflector import Link, Reflector

if TYPE_CHECKING:
    from apiext.definitions.catalog import Catalog
    from apiext.definitions.definition import Definition
    from apiext.meta.selectors import LabelSelector
    from apiext.webhook.client import WebhookClient

_LOG: Final = get_logger(__name__)
_COLLECTION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PAGE: Final = 25
"""Definitions at once: some are of half a megabyte."""
_FAILURES: Final = (WebhookError, StorageError, BackendError, StatusError)
_NOT_FOUND: Final = 404
_PASSING: Final = frozenset({409, 429})

Found = dict[str, Any]
Confirm = Callable[[], Awaitable[None]]
"""Makes sure that the host is the one whose definitions are here. Raises StrangerError, and WebhookError where that cannot be told."""


class StrangerError(WebhookError):
    """The host is another cluster than the one whose definitions are here."""


class Mirrors(Protocol):
    """Writes mirrors. Every method raises StatusError, StorageError or BackendError, and MirrorError where it must not."""

    async def update(self, host: HostDefinition, *, lost: int = 0) -> bool:
        """Have a mirror follow; whether there is one.

        Raises OlderStateError when it has followed a later state, other than `lost`, which the host does not know any more.
        """
        ...

    async def create(self, host: HostDefinition) -> None:
        """Make a mirror, unless there is one by now."""
        ...

    async def delete(self, name: str, *, uid: str) -> None:
        """Begin to delete the mirror of the definition that has the uid on the host, unless it is not there."""
        ...


class KubeSource(Link):
    """The definitions of the host that a selector selects, and those that have a mirror in the catalogue."""

    def __init__(
        self, client: WebhookClient, selector: LabelSelector, *, catalog: Catalog, mirrors: Mirrors, confirm: Confirm, shortest: float = 0.8
    ) -> None:
        self._client = client
        self._selector = selector
        self._catalog = catalog
        self._mirrors = mirrors
        self._confirm = confirm
        self._reflector = Reflector(client, _COLLECTION, self, link=self, reduce=self._reduced, page=_PAGE, shortest=shortest)
        self._queue = WorkQueue(self._sync, failures=_FAILURES, trouble="a definition of the host cannot be followed", log=_LOG)
        self._hosts: dict[str, HostDefinition] = {}
        self._ending: dict[str, str] = {}
        """Uids of definitions that were seen terminating, by name."""
        self._problems: dict[str, str] = {}
        self._listed = False
        self._begun = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.is_complete = False
        """Whether all definitions of the host have been looked at once."""
        self.unreached = ""
        """Since when the host has not been reached, empty while it is."""
        self.trouble = ""
        """Why it is not reached."""
        self.is_stranger = False
        """Whether it is another cluster, which is not followed."""

    # --- for the server -----------------------------------------------------------------------------------------------

    @property
    def names(self) -> list[str]:
        """Names of the definitions that are to be served."""
        return sorted(host.name for host in self._hosts.values() if host.is_wanted)

    @property
    def problems(self) -> list[str]:
        """What keeps definitions from being followed."""
        return [self._problems[name] for name in sorted(self._problems)]

    def start(self) -> None:
        """Begin to follow the host, whether it is there or not."""
        self._unsubscribe = self._catalog.subscribe(self._heard)
        self._tasks = [
            asyncio.create_task(self._reflector.run(), name="definitions-host"),
            asyncio.create_task(self._queue.run(), name="definitions-mirror"),
        ]

    async def begun(self) -> None:
        """Return when all definitions have been looked at, or the host was not reached."""
        await self._begun.wait()

    async def close(self) -> None:
        """Stop following."""
        self._unsubscribe()
        await end_tasks(*self._tasks)

    # --- what the host tells ------------------------------------------------------------------------------------------

    async def confirm(self) -> None:
        """Implements Link.confirm."""
        await self._confirm()

    def reached(self) -> None:
        """Implements Link.reached."""
        self.unreached, self.trouble, self.is_stranger = "", "", False

    def lost(self, error: WebhookError) -> None:
        """Implements Link.lost."""
        self.unreached, self.trouble = self.unreached or time.now(), str(error)
        self.is_stranger = isinstance(error, StrangerError)
        self._begun.set()

    def _reduced(self, found: Found) -> Found:
        return found if self._matters(found) else {"metadata": {"name": found["metadata"]["name"]}}

    def replaced(self, objects: Sequence[Found]) -> None:
        """Implements Follower.replaced."""
        before, self._hosts = self._hosts, {}
        for found in objects:
            if "spec" in found:
                self._take(found)
        missing = {*before, *self._problems, *(definition.name for definition in self._catalog.all())} - self._hosts.keys()
        for name in sorted(missing):
            self._queue.add(name)
        if not self._listed:
            self._listed = True
            self._tasks.append(asyncio.create_task(self._complete()))

    def changed(self, found: Found) -> None:
        """Implements Follower.changed."""
        if self._matters(found):
            self._take(found)

    def deleted(self, found: Found) -> None:
        """Implements Follower.deleted."""
        if self._matters(found):
            self._take(found)
            self._hosts.pop(found["metadata"]["name"], None)

    def _matters(self, found: Found) -> bool:
        metadata = found["metadata"]
        name = metadata["name"]
        return name in self._hosts or self._mirror(name) is not None or self._selector.matches(metadata.get("labels") or {})

    def _take(self, found: Found) -> HostDefinition:
        host = hosted(found, self._selector)
        if host.is_terminating:
            self._ending[host.name] = host.uid
            self._hosts.pop(host.name, None)
        else:
            self._hosts[host.name] = host
        self._queue.add(host.name)
        return host

    async def _fetch(self, name: str) -> HostDefinition | None:
        """The host's definition as it is by now, None where there is none that lives. Raises WebhookError."""
        try:
            await self._confirm()
            host = self._take(await self._client.get(f"{_COLLECTION}/{quote(name, safe='')}"))
        except WebhookError as error:
            if error.code != _NOT_FOUND:
                raise
            self._hosts.pop(name, None)
            return None
        return None if host.is_terminating else host

    async def _complete(self) -> None:
        await self._queue.join()
        self.is_complete = True
        self._begun.set()

    # --- what becomes of it -------------------------------------------------------------------------------------------

    def _heard(self, old: Definition | None, new: Definition | None) -> None:
        """Hear of a change here: of a mirror, or of what was in the way of one."""
        known = new or old
        if known is None or not self._listed:
            return
        if known.name in self._hosts or known.name in self._problems or self._mirror(known.name) is not None:
            self._queue.add(known.name)

    def _mirror(self, name: str) -> str | None:
        """The uid on the host of the definition whose mirror has a name, None where there is no mirror."""
        definition = self._catalog.get(name)
        annotations: dict[str, str] = (definition.head["metadata"].get("annotations") if definition is not None else None) or {}
        return annotations.get(HOST_UID)

    async def _sync(self, name: str) -> None:
        # others must not wait while definitions are validated
        background.is_heavy.set(True)
        try:
            await self._bring(name)
        except MirrorError as error:
            self._note(name, str(error))
        except StatusError as error:
            self._note(name, f"{name}: {error.message}")
            if error.code >= 500 or error.code in _PASSING:
                raise
        except (StorageError, BackendError) as error:
            self._note(name, f"{name}: it cannot be stored: {error}")
            raise
        else:
            self._note(name, "")

    def _note(self, name: str, problem: str) -> None:
        if problem and self._problems.get(name) != problem:
            _LOG.error("a definition of the host is not followed", definition=name, problem=problem)
        if problem:
            self._problems[name] = problem
        else:
            self._problems.pop(name, None)

    async def _bring(self, name: str) -> None:
        """Bring a mirror up to date."""
        ending = self._ending.get(name)
        if ending is not None and self._mirror(name) == ending:
            await self._mirrors.delete(name, uid=ending)
            return
        self._ending.pop(name, None)
        host = self._hosts.get(name)
        if host is None and self._mirror(name) is not None:
            host = await self._fetch(name)
            if host is None and name not in self._ending:
                self._miss(name)
        if host is not None:
            await self._follow(host)

    def _miss(self, name: str) -> None:
        definition = self._catalog.get(name)
        if definition is not None and not definition.is_terminating:
            raise MirrorError(f"{name}: it is gone from the host, where nobody has seen it terminate; what there is of it here stays")

    async def _follow(self, host: HostDefinition) -> None:
        try:
            if await self._mirrors.update(host):
                return
        except OlderStateError as older:
            fresh = await self._fetch(host.name)
            if fresh is not None:
                # a host that answers with an earlier state now was restored from a backup
                await self._mirrors.update(fresh, lost=older.revision if fresh.revision < older.revision else 0)
            return
        # what is made must not come from news that are out of date
        fresh = await self._fetch(host.name) if host.is_wanted else host
        if fresh is None:
            return
        if fresh.is_wanted:
            await self._mirrors.create(fresh)
        else:
            self._hosts.pop(fresh.name, None)
