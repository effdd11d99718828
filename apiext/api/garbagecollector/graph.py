"""The graph of owners and dependents, kept up to date by the changes of the store.

Mirrors kubernetes pkg/controller/garbagecollector/graph_builder.go, with two differences: objects without owners have no node unless
they wait for the collector, and an owner is known by the coordinates that its dependents name, which are followed in the store by key.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Final

from apiext.base.meta.errors import StatusError
from apiext.base.meta.limits import MAX_INLINE_BYTES
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.side_thread import aside
from apiext.base.scheduling.tasks import end_tasks
from apiext.base.scheduling.time_slice import Pace
from apiext.storage.backend import BackendError, ProgressUnreliableError
from apiext.storage.paged_reads import latest_pages
from apiext.storage.stored_bytes.object_links import links_of, may_matter

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from apiext.storage.backend import Backend, BackendEvent
    from apiext.storage.stored_bytes.object_links import Links, OwnerReference


class OwnerState(Enum):
    """What is known of an owner."""

    UNKNOWN = auto()
    PRESENT = auto()
    WAITING = auto()
    """It exists and waits for the deletion of its dependents."""
    ABSENT = auto()
    """Nothing with these coordinates and this uid exists, or ever will."""
    INVALID = auto()
    """A cluster-scoped object names a namespaced owner."""


@dataclass(slots=True, eq=False)
class NamedOwner:
    """An owner as its dependents name it: upstream's coordinates."""

    id: str
    reference: OwnerReference
    namespace: str
    """The namespace of the dependents; empty for a cluster-scoped owner."""
    key: str = ""
    """Its key in the store; empty while its kind is not served."""
    state: OwnerState = OwnerState.UNKNOWN
    dependents: dict[GraphNode, bool] = field(default_factory=dict)
    """The dependents, and whether each blocks the deletion in foreground."""

    @property
    def uid(self) -> str:
        """Return the owner's uid."""
        return self.reference.uid

    @property
    def concerns_dependents(self) -> bool:
        """Return whether dependents may have to be deleted or changed."""
        return self.state in {OwnerState.ABSENT, OwnerState.WAITING}


@dataclass(slots=True, eq=False)
class GraphNode:
    """An object that has owners or whose deletion waits for the collector."""

    key: str
    uid: str
    namespace: str
    owners: tuple[NamedOwner, ...] = ()
    is_terminating: bool = False
    orphans: bool = False
    waits_for_dependents: bool = False


@dataclass(frozen=True, slots=True)
class KindPlace:
    """Where the objects of a kind are stored."""

    prefix: str
    """The prefix of their keys, with a final slash."""
    namespaced: bool


class _Owners:
    """The owners at a key. A change visits only those that it may concern, however many dependents name a wrong uid."""

    __slots__ = ("absent", "others")

    def __init__(self) -> None:
        self.others: dict[str, NamedOwner] = {}
        """Those that are not known to be absent, by id."""
        self.absent: dict[str, dict[str, NamedOwner]] = {}
        """By uid, then by id."""

    def concerned(self, uid: str) -> list[NamedOwner]:
        """Return the owners whose state may change with an object of this uid."""
        return [*self.others.values(), *self.absent.get(uid, {}).values()]

    def put(self, owner: NamedOwner) -> None:
        """Add an owner."""
        places = self.absent.setdefault(owner.uid, {}) if owner.state is OwnerState.ABSENT else self.others
        places[owner.id] = owner

    def drop(self, owner: NamedOwner) -> bool:
        """Remove an owner, before its state changes. Report whether none is left."""
        if owner.state is not OwnerState.ABSENT:
            del self.others[owner.id]
        elif len(same := self.absent[owner.uid]) > 1:
            del same[owner.id]
        else:
            del self.absent[owner.uid]
        return not self.others and not self.absent


def owner_id(reference: OwnerReference, namespace: str) -> str:
    """Return the id of an owner with these coordinates."""
    return f"{reference.uid} {reference.api_version} {reference.kind} {namespace}/{reference.name}"


class Graph:
    """Nodes and owners.

    `locate` returns the place of a kind by apiVersion and kind, None if it is not served. `attempt` is called with the key of a node that
    may have to be processed, `check` with the id of an owner that must be looked up, or whose dependents must be processed.
    """

    def __init__(
        self, locate: Callable[[str, str], KindPlace | None], attempt: Callable[[str], None], check: Callable[[str], None]
    ) -> None:
        self.nodes: dict[str, GraphNode] = {}
        """By key in the store."""
        self.owners: dict[str, NamedOwner] = {}
        """By id."""
        self._locate = locate
        self._attempt = attempt
        self._check = check
        self._by_key: dict[str, _Owners] = {}
        self._by_uid: dict[str, dict[str, NamedOwner]] = {}
        """By uid, then by id: dependents may name one uid in several ways."""
        self._blocking: Counter[str] = Counter()
        """Numbers of references that block the deletion of an object in foreground, by its uid."""
        self._unserved: dict[tuple[str, str], dict[str, NamedOwner]] = {}
        """Owners by apiVersion and kind, then by id, whose kind is not served."""
        self._waiting: dict[str, GraphNode] = {}
        """Nodes by uid that wait for their dependents."""

    def concerns(self, key: str) -> bool:
        """Report whether every change of a key matters."""
        return key in self.nodes or key in self._by_key

    def dependents(self, uid: str) -> list[GraphNode]:
        """Return all dependents that name an owner with a uid, each once."""
        return list(dict.fromkeys(node for owner in self._by_uid.get(uid, {}).values() for node in owner.dependents))

    def has_dependents(self, uid: str) -> bool:
        """Report whether an object has dependents."""
        return uid in self._by_uid

    def is_blocked(self, uid: str) -> bool:
        """Report whether a dependent blocks the deletion of its owner in foreground."""
        return uid in self._blocking

    def put(self, key: str, links: Links) -> None:
        """Take the new state of an object."""
        owners = self._by_key.get(key)
        for owner in owners.concerned(links.uid) if owners is not None else ():
            self._see(owner, links)
        node = self.nodes.get(key)
        if node is not None and node.uid != links.uid:
            self._remove(node)
            node = None
        if not (links.references or links.orphans or links.waits_for_dependents):
            if node is not None:
                self._remove(node)
            return
        if node is None:
            node = self.nodes[key] = GraphNode(key, links.uid, links.namespace)
        self._relate(node, links.references)
        self._take_transitions(node, links)

    def remove(self, key: str) -> None:
        """Take the deletion of an object."""
        owners = self._by_key.get(key)
        for owner in tuple(owners.others.values()) if owners is not None else ():
            self._set_state(owner, OwnerState.ABSENT)
        node = self.nodes.get(key)
        if node is not None:
            self._remove(node)

    def set_absent(self, owner: NamedOwner) -> None:
        """Take the result of a lookup: the owner does not exist."""
        self._set_state(owner, OwnerState.ABSENT)

    def set_found(self, owner: NamedOwner, links: Links) -> None:
        """Take the result of a lookup, unless the owner's state is known meanwhile."""
        if owner.state is OwnerState.UNKNOWN:
            self._see(owner, links)

    def locate_again(self, api_version: str, kind: str) -> None:
        """Locate the owners of a kind that may be served now."""
        for owner in self._unserved.pop((api_version, kind), {}).values():
            self._place(owner)
            self._check(owner.id)

    # --- changes of one object ------------------------------------------------------------------------------------------

    def _see(self, owner: NamedOwner, links: Links) -> None:
        if links.uid != owner.uid:
            self._set_state(owner, OwnerState.ABSENT)
        else:
            self._set_state(owner, OwnerState.WAITING if links.waits_for_dependents else OwnerState.PRESENT)

    def _set_state(self, owner: NamedOwner, state: OwnerState) -> None:
        if owner.state is state:
            return
        owners = self._by_key.get(owner.key)
        if owners is not None:
            owners.drop(owner)
        owner.state = state
        if owners is not None:
            owners.put(owner)
        if owner.concerns_dependents:
            self._check(owner.id)

    def _take_transitions(self, node: GraphNode, links: Links) -> None:
        begins_orphaning = links.orphans and not node.orphans
        begins_waiting = links.waits_for_dependents and not node.waits_for_dependents
        node.is_terminating, node.orphans, node.waits_for_dependents = links.is_terminating, links.orphans, links.waits_for_dependents
        if node.waits_for_dependents:
            self._waiting[node.uid] = node
        else:
            self._waiting.pop(node.uid, None)
        if begins_orphaning or begins_waiting:
            self._attempt(node.key)

    def _remove(self, node: GraphNode) -> None:
        del self.nodes[node.key]
        self._waiting.pop(node.uid, None)
        self._relate(node, ())

    # --- owners of one object -------------------------------------------------------------------------------------------

    def _relate(self, node: GraphNode, references: Iterable[OwnerReference]) -> None:
        """Set the owners of a node."""
        wanted: dict[NamedOwner, bool] = {}
        for reference in references:
            owner = self._owner(reference, node.namespace)
            wanted[owner] = wanted.get(owner, False) or reference.blocks
        former, node.owners = node.owners, tuple(wanted)
        for owner, blocks in wanted.items():
            if owner.dependents.get(node) is not blocks:
                self._attach(owner, node, blocks=blocks)
        for owner in former:
            if owner not in wanted:
                self._detach(owner, node)

    def _owner(self, reference: OwnerReference, namespace: str) -> NamedOwner:
        """Return the owner with the coordinates of a reference. It is forgotten with its last dependent."""
        place = self._locate(reference.api_version, reference.kind)
        if place is not None and not place.namespaced:
            namespace = ""
        name = owner_id(reference, namespace)
        owner = self.owners.get(name)
        if owner is None:
            owner = self.owners[name] = NamedOwner(name, reference, namespace)
            self._by_uid.setdefault(owner.uid, {})[name] = owner
            self._place(owner)
            self._check(name)
        return owner

    def _place(self, owner: NamedOwner) -> None:
        """Find the key of an owner."""
        reference = owner.reference
        place = self._locate(reference.api_version, reference.kind)
        if place is None:
            self._unserved.setdefault((reference.api_version, reference.kind), {})[owner.id] = owner
        elif place.namespaced and not owner.namespace:
            owner.state = OwnerState.INVALID
        else:
            owner.key = f"{place.prefix}{owner.namespace}/{reference.name}" if place.namespaced else f"{place.prefix}{reference.name}"
            self._by_key.setdefault(owner.key, _Owners()).put(owner)

    def _attach(self, owner: NamedOwner, node: GraphNode, *, blocks: bool) -> None:
        if node not in owner.dependents and owner.concerns_dependents:
            self._attempt(node.key)
        self._block(owner.uid, blocks - owner.dependents.get(node, False))
        owner.dependents[node] = blocks

    def _detach(self, owner: NamedOwner, node: GraphNode) -> None:
        self._block(owner.uid, -owner.dependents.pop(node))
        if not owner.dependents:
            self._forget(owner)

    def _block(self, uid: str, change: int) -> None:
        """Change the number of references that block an object, and process it if it waits for the last one."""
        if not change:
            return
        self._blocking[uid] += change
        if self._blocking[uid]:
            return
        del self._blocking[uid]
        waiting = self._waiting.get(uid)
        if waiting is not None:
            self._attempt(waiting.key)

    def _forget(self, owner: NamedOwner) -> None:
        del self.owners[owner.id]
        same = self._by_uid[owner.uid]
        del same[owner.id]
        if not same:
            del self._by_uid[owner.uid]
        if owner.key and self._by_key[owner.key].drop(owner):
            del self._by_key[owner.key]
        kind = owner.reference.api_version, owner.reference.kind
        unserved = self._unserved.get(kind)
        if unserved is not None and unserved.pop(owner.id, None) is not None and not unserved:
            del self._unserved[kind]


_LOG: Final = get_logger(__name__)
QUIET_SECONDS: Final = 5.0
"""Seconds until all objects are read if nothing needs it sooner: clients that list after a restart come first."""
PAUSES: Final = (0.2, 5.0)
"""Seconds before the first retry of reading all objects, and the longest before later ones."""
_UNRELIABLE_SECONDS: Final = 5.0
"""Seconds for the last changes to arrive from an etcd that does not report its progress reliably."""
_END: Final = ""
"""The key of no object, which ends the changes that were made while all objects were read."""


class GraphBuilder:
    """Fills a graph; implements storage.cacher.feed.FeedFollower for the changes of all kinds."""

    def __init__(
        self,
        backend: Backend,
        root: str,
        graph: Graph,
        *,
        reach: Callable[[int], Awaitable[None]],
        is_ignored: Callable[[str], bool],
    ) -> None:
        """Create a builder for all keys below `root`.

        `reach` waits until the changes up to a revision were delivered. The objects whose key `is_ignored` are owners at most.
        """
        self.is_built = asyncio.Event()
        """Set when the graph has all objects."""
        self.is_outdated = asyncio.Event()
        """Set when changes were lost: then a new graph is needed."""
        self.failures = 0
        """Number of failed attempts to read all objects."""
        self._backend = backend
        self._root = root
        self._graph = graph
        self._reach = reach
        self._is_ignored = is_ignored
        self._changes: deque[tuple[str, bytes | None]] = deque()
        self._pending: Counter[str] = Counter()
        """Numbers of changes by key that the graph does not have yet."""
        self._newer: set[str] | None = set()
        """Keys that changed while all objects are read. None afterwards."""
        self._changed = asyncio.Event()
        self._wanted = asyncio.Event()
        """Set when a change concerns the collector."""

    def apply(self, events: Sequence[BackendEvent]) -> None:
        """Take changes in order."""
        for event in events:
            key, value = event.key, event.value
            if self._newer is not None:
                self._newer.add(key)
            if self._graph.concerns(key) or key in self._pending or (value is not None and may_matter(value)):
                self._append(key, value)
                self._wanted.set()

    async def reload(self, _revision: int, *, anew: bool = False) -> None:
        """Note that changes were lost."""
        self.is_outdated.set()

    async def run(self) -> None:
        """Read all objects, and apply changes until cancelled."""
        reading = asyncio.create_task(self._build(), name="garbage-collector-list")
        pace = Pace()
        try:
            while True:
                await self._changed.wait()
                self._changed.clear()
                while self._changes:
                    await self._apply_first()
                    await pace.checkpoint()
        finally:
            await end_tasks(reading)

    async def _apply_first(self) -> None:
        key, value = self._changes[0]
        if key == _END:
            self._newer = None
            self.is_built.set()
        else:
            await self._put(key, value)
        self._changes.popleft()
        self._pending[key] -= 1
        if not self._pending[key]:
            del self._pending[key]

    def _append(self, key: str, value: bytes | None) -> None:
        self._changes.append((key, value))
        self._pending[key] += 1
        self._changed.set()

    async def _build(self) -> None:
        """Read all objects soon, or at once when the collector may have work."""
        with suppress(TimeoutError):
            async with asyncio.timeout(QUIET_SECONDS):
                await self._wanted.wait()
        backoff = Backoff(*PAUSES)
        while True:
            try:
                await self._read_all()
                # what was read is complete once the changes that were made meanwhile are known
                await self._reach(await self._backend.revision())
                break
            except ProgressUnreliableError:
                await asyncio.sleep(_UNRELIABLE_SECONDS)
                break
            except (BackendError, StatusError) as error:
                self.failures += 1
                _LOG.warning("garbage collector cannot read all objects, retrying", error=str(error), retry_after=backoff.next)
            except Exception:  # noqa: BLE001 -- garbage would stay until the server restarts
                self.failures += 1
                _LOG.exception("garbage collector cannot read all objects, retrying", retry_after=backoff.next)
            await backoff.pause()
        self._append(_END, None)

    async def _read_all(self) -> None:
        """Add all objects to the graph that did not change meanwhile.

        Raises:
            BackendError: the backend does not answer.
        """
        pace = Pace()
        async for page in latest_pages(self._backend, self._root):
            for pair in page:
                if (may_matter(pair.value) or self._graph.concerns(pair.key)) and not self._is_newer(pair.key):
                    await self._put(pair.key, pair.value, listed=True)
                await pace.checkpoint()

    def _is_newer(self, key: str) -> bool:
        return self._newer is not None and key in self._newer

    async def _put(self, key: str, value: bytes | None, *, listed: bool = False) -> None:
        if value is None:
            self._graph.remove(key)
            return
        ignored = self._is_ignored(key)
        if ignored and not self._graph.concerns(key):
            return
        links = links_of(value) if len(value) <= MAX_INLINE_BYTES else await aside(lambda: links_of(value))
        if links is not None and not (listed and self._is_newer(key)):
            self._graph.put(key, replace(links, references=(), finalizers=()) if ignored else links)
