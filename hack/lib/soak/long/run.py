"""The long run: clients, faults and changes for a number of minutes, then the judgement."""

import http.client
import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from hack.lib.pausable import Pausable
from hack.lib.servers.webhook_server import WebhookServer
from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.attack import BROKEN
from hack.lib.soak.follower import Follower
from hack.lib.soak.long import faults, guard, leaks, linearizability, orders, world
from hack.lib.soak.long.administrator import Administrator
from hack.lib.soak.long.audit_log import AuditLogs
from hack.lib.soak.long.collection import VERSIONS, State, collection, register, state
from hack.lib.soak.long.faults import Lane
from hack.lib.soak.long.history import History
from hack.lib.soak.long.key_ring import KeyRing
from hack.lib.soak.long.lister import Listed, Lister
from hack.lib.soak.long.names import Names
from hack.lib.soak.long.register_client import RegisterClient
from hack.lib.soak.long.world import World
from hack.lib.soak.observation import Outcome, inspect_log
from hack.lib.soak.reflector import Reflector
from hack.lib.waiting import until

_CLIENTS: Final = 6
_LISTERS: Final = 2
_INTERVAL: Final = 0.02
"""Seconds between two requests of a client: the clients shall not be what is measured."""
_RESIDENT: Final = 200
_SILENCE: Final = 5.0
"""Seconds of silence after which a watch connects again."""
_PATIENCE: Final = 120.0
"""Seconds until everything works again after the last fault."""
_FLAGS: Final = ("--migrate=auto",)


@dataclass
class Findings:
    """What a run counted, and what is wrong."""

    minutes: float = 0.0
    operations: int = 0
    unknown: int = 0
    objects: int = 0
    lists: int = 0
    events: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def summary(self) -> str:
        """Return the counts in several lines."""
        head = (
            f"{self.minutes:.1f} minutes, {self.operations:,} requests about {self.objects:,} objects, {self.unknown:,} of them without an "
            f"answer, {self.lists:,} lists, {self.events:,} events of watches, {len(self.problems)} problems"
        )
        return "\n".join(
            [head, *(f"  {count} x {name}" for name, count in sorted(self.happened.items())), *(f"  {note}" for note in self.notes)]
        )


def run(folder: Path, store: str, minutes: float, *, behind_host: bool = False) -> Findings:
    """Start the servers of a store, let everything happen to them, and return what was found.

    Raises:
        AssertionError: The servers do not serve at the start.
        BuildError, ProcessError: A program cannot be built, or does not start.
    """
    linearizability.program()
    keys, audit = KeyRing(folder / "encryption.json"), AuditLogs(folder)

    def flags(number: int) -> Sequence[str]:
        return (*_FLAGS, *keys.flags, *audit.flags(number))

    with world.start(folder, store, behind_host=behind_host, flags=flags) as around, guard.server(folder) as webhook:
        found = _Run(folder, around, keys, behind_host=behind_host).play(minutes, webhook)
    found.notes.append(f"{audit.events():,} audit events")
    return found


class _Run:
    """One run in a world."""

    def __init__(self, folder: Path, around: World, keys: KeyRing, *, behind_host: bool) -> None:
        self._world = around
        self._names = Names()
        self._history = History(folder / "history.jsonl")
        self._listed: list[Listed] = []
        self._administrator = Administrator(around.administrator, keys, around.direct, behind_host=behind_host)
        accesses = [around.front, Replicas(around.direct)]
        self._clients = [
            RegisterClient(number, accesses[number % 2], self._names, self._history, interval=_INTERVAL) for number in range(_CLIENTS)
        ]
        self._listers = [Lister(accesses[number % 2], self._listed.append) for number in range(_LISTERS)]
        self._followers = self._watching(accesses)
        self._leaks = leaks.Leaks(around.servers[0], around.direct[0])
        self._end = 0

    def play(self, minutes: float, webhook: WebhookServer) -> Findings:
        """Run for some minutes, and judge."""
        begun = time.monotonic()
        self._prepare(webhook)
        lanes = faults.lanes(self._world, webhook, kill_until=begun + minutes * 20)
        with ExitStack() as stack:
            for follower in self._followers:
                stack.enter_context(follower)
            until(lambda: all(follower.lists for follower in self._followers), "the first list of each watch")
            clients: Sequence[Pausable] = [*self._clients, *self._listers]
            for part in (*clients, self._administrator, self._leaks, *lanes):
                stack.enter_context(part)
            time.sleep(minutes * 60)
            for part in (*lanes, self._administrator, self._leaks):
                part.pause()
            found = Findings()
            self._recover(found)
            # in a short run on a busy machine the server may have been away at all other times
            self._leaks.take()
            for part in clients:
                part.pause()
            self._finish(found)
        self._history.close()
        found.minutes = (time.monotonic() - begun) / 60
        actors: Sequence[Lane | Administrator] = [*lanes, self._administrator]
        for actor in actors:
            found.happened += actor.counts
            found.problems += actor.problems
        self._judge(found)
        return found

    def _watching(self, accesses: Sequence[Access | Replicas]) -> list[Follower[State]]:
        """Return watches of both versions, as informers and as clients that resume at any price, through the front and directly."""
        front, direct = accesses
        followers: list[Follower[State]] = []
        for version, access, other in ((VERSIONS[0], front, direct), (VERSIONS[1], direct, front)):
            followers.append(Reflector(access, collection(version), state, patience=_SILENCE))
            followers.append(Follower(other, collection(version), state, patience=_SILENCE))
        return followers

    def _prepare(self, webhook: WebhookServer) -> None:
        self._administrator.define()
        until(self._serves, "serving the definition")
        for number in range(_RESIDENT):
            until(partial(self._create_resident, number), "creating the resident objects")
        guard.install(webhook, self._world.administrator)

    def _create_resident(self, number: int) -> bool:
        """Create an object; report whether it is there. Behind a host, writes wait until the group has moved."""
        code, _ = self._world.front.caller.ask("POST", collection("v1"), register("v1", f"s-{number}", number))
        return code in {http.HTTPStatus.CREATED, http.HTTPStatus.CONFLICT}

    def _serves(self) -> bool:
        """Report whether all servers are ready and serve both versions, and the way of ordinary clients is open."""
        callers = [self._world.front.caller, *(one.caller for one in self._world.direct)]
        return all(server.ready() for server in self._world.servers) and all(
            caller.ask("GET", f"{collection(version)}?limit=1")[0] == http.HTTPStatus.OK for caller in callers for version in VERSIONS
        )

    def _recover(self, found: Findings) -> None:
        """Wait until everything works after the last fault."""
        begun = time.monotonic()
        try:
            until(self._serves, "serving after the last fault", patience=_PATIENCE)
            operations = self._history.operations - self._history.unknown
            until(lambda: self._history.operations - self._history.unknown > operations + 100, "requests after the last fault")
        except AssertionError as error:
            found.problems.append(str(error))
        found.notes.append(f"all works again {time.monotonic() - begun:.1f} s after the last fault")

    def _finish(self, found: Findings) -> None:
        """Read each object for the last time, and let watches and servers come to the same end."""
        with self._world.direct[0].connection(_PATIENCE) as connection:
            for name in self._names.rest():
                self._clients[0].look(name, connection)
        try:
            until(self._agree, "watches and servers that show the same objects", patience=_PATIENCE)
        except AssertionError as error:
            found.problems.append(f"{error}: {[len(one.items) for one in self._followers]} objects in watches")

    def _agree(self) -> bool:
        """Report whether all watches have seen the last event of any, and show the same objects as all servers.

        Requests without an answer and migrations may still write later, while the watches end one after the other.
        """
        self._end = max(max(follower.seen, default=0) for follower in self._followers)
        if any(follower.revision < self._end for follower in self._followers):
            return False
        shown = [_contents(access) for access in self._world.direct]
        return all(one == shown[0] for one in (*shown, *(follower.items for follower in self._followers)))

    def _judge(self, found: Findings) -> None:
        checked = linearizability.check(self._history.path)
        order = orders.Order(follower.seen for follower in self._followers)
        found.operations, found.objects, found.unknown = checked.operations, checked.objects, self._history.unknown
        found.lists, found.events = len(self._listed), sum(len(follower.seen) for follower in self._followers)
        found.problems += checked.problems
        found.problems += order.problems
        found.problems += order.lists(self._listed, _RESIDENT)
        found.problems += order.acknowledged(self._history.acknowledged)
        found.problems += orders.stale(self._listed, self._history.acknowledged)
        for number, follower in enumerate(self._followers):
            if missed := follower.missed([revision for revision in order.revisions if revision <= self._end]):
                found.problems.append(f"watch {number} missed revisions {missed[:10]}")
        clients: Sequence[RegisterClient | Lister | Follower[State]] = [*self._clients, *self._listers, *self._followers]
        for client in clients:
            found.problems += client.problems[:5]
        line, leaked = leaks.judge(self._leaks.samples)
        found.notes += [line, *self._world.missing]
        found.problems += [*leaked, *self._log_errors()]

    def _log_errors(self) -> list[str]:
        outcome = Outcome("log", Counter())
        errors = []
        for server in self._world.servers:
            inspect_log(outcome, server.process.log.read_bytes().splitlines())
            errors += [f"{server.folder.name} logged {line}" for line in outcome.errors[:1]]
        return errors


def _contents(access: Access) -> dict[str, tuple[State, int]]:
    """Return the objects that a server shows, as a watch does; empty without an answer."""
    try:
        code, found = access.caller.ask("GET", collection("v1"))
    except (*BROKEN, json.JSONDecodeError):
        return {}
    items = found["items"] if code == http.HTTPStatus.OK else ()
    return {item["metadata"]["name"]: (state(item), int(item["metadata"]["resourceVersion"])) for item in items}
