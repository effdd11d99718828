"""Definitions of a host cluster, mirrored while the server runs (`--crd-selector`).

A selected definition gets a mirror in this server. The mirror then follows the host's definition, even if it is no longer selected.
A terminating definition loses its mirror. A definition that disappears in another way keeps it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import quote

from apiext.base.meta import time
from apiext.base.meta.errors import StatusError
from apiext.base.meta.host_annotations import HOST_UID
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.workqueue import WorkQueue
from apiext.base.webhook.client import WebhookError
from apiext.base.webhook.reflector import Link, Reflector
from apiext.server.host.host_definition import HostDefinition, MirrorError, OlderStateError, host_definition
from apiext.storage.backend import BackendError
from apiext.storage.errors import StorageError

if TYPE_CHECKING:
    from apiext.base.meta.selectors import LabelSelector
    from apiext.base.webhook.client import WebhookClient
    from apiext.resources.definitions.catalog import Catalog
    from apiext.resources.definitions.definition import Definition

_LOG: Final = get_logger(__name__)
_COLLECTION: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PAGE_SIZE: Final = 25
"""Definitions per page of a list; some have half a megabyte."""
_FAILURES: Final = (WebhookError, StorageError, BackendError, StatusError)
_NOT_FOUND: Final = 404
_TEMPORARY: Final = frozenset({409, 429})

Found = dict[str, Any]
Confirm = Callable[[], Awaitable[None]]
"""Checks that the host is the cluster of the mirrored definitions.

Raises:
    OtherClusterError: it is another cluster.
    WebhookError: the check failed.
"""


class OtherClusterError(WebhookError):
    """The host is not the cluster of the mirrored definitions."""


class Mirrors(Protocol):
    """Writes mirrors.

    Every method raises StatusError, StorageError or BackendError, and MirrorError if the mirror must not be written.
    """

    async def update(self, host: HostDefinition, *, lost_revision: int = 0) -> bool:
        """Update an existing mirror. Return False if there is none.

        A mirror may go back to an earlier state from `lost_revision`, a revision that the host has lost.

        Raises:
            OlderStateError: the mirror has a later state than `host`.
        """
        ...

    async def create(self, host: HostDefinition) -> None:
        """Create a mirror, unless it exists."""
        ...

    async def delete(self, name: str, *, uid: str) -> None:
        """Delete the mirror of the host definition with a uid, unless it is gone. Instances are deleted asynchronously."""
        ...


class HostClusterSource(Link):
    """Mirrors the host's definitions that a selector selects, and those that already have a mirror."""

    def __init__(
        self,
        client: WebhookClient,
        selector: LabelSelector,
        *,
        catalog: Catalog,
        mirrors: Mirrors,
        confirm: Confirm,
        min_pause: float = 0.8,
    ) -> None:
        self._client = client
        self._selector = selector
        self._catalog = catalog
        self._mirrors = mirrors
        self._confirm = confirm
        self._reflector = Reflector(client, _COLLECTION, self, link=self, reduce=self._reduce, page=_PAGE_SIZE, min_pause=min_pause)
        self._queue = WorkQueue(self._sync, log=_LOG, event="mirror update failed, retrying", key_field="definition", retryable=_FAILURES)
        self._hosts: dict[str, HostDefinition] = {}
        self._terminating: dict[str, str] = {}
        """Uids, by name, of host definitions that were seen terminating."""
        self._problems: dict[str, str] = {}
        self._is_listed = False
        self._ready = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.is_complete = False
        """All definitions of the host have been processed once."""
        self.unreachable_since = ""
        """Time since which the host is unreachable, "" while it is reachable."""
        self.last_error = ""
        """Error of the last request to an unreachable host."""
        self.is_other_cluster = False
        """The host is another cluster; its definitions are ignored."""

    @property
    def names(self) -> list[str]:
        """Return the names of the definitions to serve."""
        return sorted(host.name for host in self._hosts.values() if host.is_wanted)

    @property
    def problems(self) -> list[str]:
        """Return the problems that keep definitions from being mirrored."""
        return [self._problems[name] for name in sorted(self._problems)]

    def start(self) -> None:
        """Start watching the host. Do not wait for its answer."""
        self._unsubscribe = self._catalog.subscribe(self._on_change)
        self._tasks = [
            asyncio.create_task(self._reflector.run(), name="definitions-host"),
            asyncio.create_task(self._queue.run(), name="definitions-mirror"),
        ]

    async def wait_until_processed(self) -> None:
        """Return when all definitions are processed, or the host is unreachable."""
        await self._ready.wait()

    async def close(self) -> None:
        """Stop watching."""
        self._unsubscribe()
        await end_tasks(*self._tasks)

    # --- events of the host -------------------------------------------------------------------------------------------

    async def confirm(self) -> None:
        """Implement Link.confirm."""
        await self._confirm()

    def reached(self) -> None:
        """Implement Link.reached."""
        self.unreachable_since, self.last_error, self.is_other_cluster = "", "", False

    def lost(self, error: WebhookError) -> None:
        """Implement Link.lost."""
        self.unreachable_since, self.last_error = self.unreachable_since or time.now(), str(error)
        self.is_other_cluster = isinstance(error, OtherClusterError)
        self._ready.set()

    def _reduce(self, found: Found) -> Found:
        return found if self._is_relevant(found) else {"metadata": {"name": found["metadata"]["name"]}}

    def replaced(self, objects: Sequence[Found]) -> None:
        """Implement Follower.replaced."""
        before, self._hosts = self._hosts, {}
        for found in objects:
            if "spec" in found:
                self._record(found)
        missing = {*before, *self._problems, *(definition.name for definition in self._catalog.all())} - self._hosts.keys()
        for name in sorted(missing):
            self._queue.add(name)
        if not self._is_listed:
            self._is_listed = True
            self._tasks.append(asyncio.create_task(self._complete()))

    def changed(self, found: Found) -> None:
        """Implement Follower.changed."""
        if self._is_relevant(found):
            self._record(found)

    def deleted(self, found: Found) -> None:
        """Implement Follower.deleted."""
        if self._is_relevant(found):
            self._record(found)
            self._hosts.pop(found["metadata"]["name"], None)

    def _is_relevant(self, found: Found) -> bool:
        metadata = found["metadata"]
        name = metadata["name"]
        return name in self._hosts or self._mirror_uid(name) is not None or self._selector.matches(metadata.get("labels") or {})

    def _record(self, found: Found) -> HostDefinition:
        host = host_definition(found, self._selector)
        if host.is_terminating:
            self._terminating[host.name] = host.uid
            self._hosts.pop(host.name, None)
        else:
            self._hosts[host.name] = host
        self._queue.add(host.name)
        return host

    async def _fetch(self, name: str) -> HostDefinition | None:
        """Return the current definition on the host, None if it is missing or terminating.

        Raises:
            WebhookError: the host cannot be read.
        """
        try:
            await self._confirm()
            host = self._record(await self._client.get(f"{_COLLECTION}/{quote(name, safe='')}"))
        except WebhookError as error:
            if error.code != _NOT_FOUND:
                raise
            self._hosts.pop(name, None)
            return None
        return None if host.is_terminating else host

    async def _complete(self) -> None:
        await self._queue.join()
        self.is_complete = True
        self._ready.set()

    # --- reconciliation of mirrors ------------------------------------------------------------------------------------

    def _on_change(self, old: Definition | None, new: Definition | None) -> None:
        """Enqueue a changed mirror, or a definition that blocked a mirror; implements catalog.Listener."""
        known = new or old
        if known is None or not self._is_listed:
            return
        if known.name in self._hosts or known.name in self._problems or self._mirror_uid(known.name) is not None:
            self._queue.add(known.name)

    def _mirror_uid(self, name: str) -> str | None:
        """Return the host uid in a mirror's annotation, None if there is no mirror of that name."""
        definition = self._catalog.get(name)
        annotations: dict[str, str] = (definition.head["metadata"].get("annotations") if definition is not None else None) or {}
        return annotations.get(HOST_UID)

    async def _sync(self, name: str) -> None:
        try:
            await self._reconcile(name)
        except MirrorError as error:
            self._set_problem(name, str(error))
        except StatusError as error:
            self._set_problem(name, f"{name}: {error.message}")
            if error.code >= 500 or error.code in _TEMPORARY:
                raise
        except (StorageError, BackendError) as error:
            self._set_problem(name, f"{name}: cannot be stored: {error}")
            raise
        else:
            self._set_problem(name, "")

    def _set_problem(self, name: str, problem: str) -> None:
        if problem and self._problems.get(name) != problem:
            _LOG.error("host definition cannot be mirrored", definition=name, problem=problem)
        if problem:
            self._problems[name] = problem
        else:
            self._problems.pop(name, None)

    async def _reconcile(self, name: str) -> None:
        """Create, update or delete a mirror."""
        terminating_uid = self._terminating.get(name)
        if terminating_uid is not None and self._mirror_uid(name) == terminating_uid:
            await self._mirrors.delete(name, uid=terminating_uid)
            return
        self._terminating.pop(name, None)
        host = self._hosts.get(name)
        if host is None and self._mirror_uid(name) is not None:
            host = await self._fetch(name)
            if host is None and name not in self._terminating:
                self._report_missing(name)
        if host is not None:
            await self._update(host)

    def _report_missing(self, name: str) -> None:
        definition = self._catalog.get(name)
        if definition is not None and not definition.is_terminating:
            raise MirrorError(f"{name}: missing on the host without having been seen terminating; its mirror and the instances are kept")

    async def _update(self, host: HostDefinition) -> None:
        try:
            if await self._mirrors.update(host):
                return
        except OlderStateError as older:
            fresh = await self._fetch(host.name)
            if fresh is not None:
                # A host that now returns an earlier state was restored from a backup.
                await self._mirrors.update(fresh, lost_revision=older.revision if fresh.revision < older.revision else 0)
            return
        # A stale state must not create a mirror.
        fresh = await self._fetch(host.name) if host.is_wanted else host
        if fresh is None:
            return
        if fresh.is_wanted:
            await self._mirrors.create(fresh)
        else:
            self._hosts.pop(fresh.name, None)
