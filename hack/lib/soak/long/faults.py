"""What happens to the servers of a long run: one fault after the other in each lane, several lanes at once.

Lanes are chosen so that a quorum of members remains: only one lane touches them. The first server is not killed, a single one only
until a time: its memory is compared over the run.
"""

import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from hack.lib.pausable import Pausable
from hack.lib.servers.process import Service
from hack.lib.servers.webhook_server import WebhookServer
from hack.lib.soak.long import slow_disk
from hack.lib.soak.long.links import Link, Weather
from hack.lib.soak.long.world import World

Fault = Callable[[], AbstractContextManager[None]]
_REST: Final = (0.5, 4.0)
"""Minimum and maximum of seconds between two faults of a lane."""
_LASTS: Final = (0.5, 6.0)
"""Minimum and maximum of seconds of a fault."""
_SLOW_DISK_MS: Final = 150
_JUMPS: Final = (-20, 30, 3600)
"""Seconds of clock jumps. Certificates of the run are younger than a long jump back."""


class Lane(Pausable):
    """Plays faults in a thread between `start` and `pause`; after `pause` all are over. `counts` has their names."""

    def __init__(self, faults: dict[str, Fault]) -> None:
        super().__init__()
        self._faults = faults
        self._random = random.Random()  # noqa: S311 -- no secret
        self.counts: Counter[str] = Counter()
        self.problems: list[str] = []

    def _run(self) -> None:
        while self._faults and not self._ended.wait(self._random.uniform(*_REST)):
            name = self._random.choice(sorted(self._faults))
            try:
                with self._faults[name]():
                    self._ended.wait(self._random.uniform(*_LASTS))
            except Exception as error:  # noqa: BLE001 -- reported with the findings
                self.problems.append(f"{name}: {error!r}")
                return
            self.counts[name] += 1


def lanes(world: World, webhook: WebhookServer, *, kill_until: float) -> list[Lane]:
    """Return the lanes of faults that are possible in a world; a single server is killed until a time of the monotonic clock."""
    chance = random.Random()  # noqa: S311 -- no secret
    return [Lane(_of_members(world, chance)), Lane(_of_servers(world, chance, kill_until)), Lane(_around(world, webhook, chance))]


def _of_members(world: World, chance: random.Random) -> dict[str, Fault]:
    """Return faults of the etcd, of which each hits one member, or all of them a little."""
    if not world.members:
        return {}
    found: dict[str, Fault] = {
        "a member of etcd is killed": lambda: _killed(chance.choice(world.members)),
        "a member of etcd is paused": lambda: _paused(chance.choice(world.members)),
        "the disk of a member of etcd is slow": lambda: _slow([chance.choice(world.delays)]),
        "all disks of etcd are slow": lambda: _slow(world.delays),
    }
    for weather in (Weather.CUT, Weather.SILENT, Weather.SLOW):
        found[f"the network of a member of etcd {weather.value}"] = partial(_storm, world, world.peers, weather, chance)
    return found


def _of_servers(world: World, chance: random.Random, kill_until: float) -> dict[str, Fault]:
    """Return faults of the servers and of their way to the etcd."""

    def kill() -> AbstractContextManager[None]:
        mortal = world.servers[1:] or (world.servers if time.monotonic() < kill_until else ())
        return _killed(chance.choice(mortal)) if mortal else _paused(world.servers[0])

    found: dict[str, Fault] = {"a server is killed": kill, "a server is paused": lambda: _paused(chance.choice(world.servers))}
    for weather in (Weather.CUT, Weather.SILENT, Weather.SLOW) if world.to_etcd else ():
        found[f"the network of a server to etcd {weather.value}"] = partial(_isolate, world, weather, chance)
    return found


def _around(world: World, webhook: WebhookServer, chance: random.Random) -> dict[str, Fault]:
    """Return faults of what the servers use besides their store."""
    found: dict[str, Fault] = {
        "the admission webhook is killed": lambda: _killed(webhook),
        "the admission webhook is paused": lambda: _paused(webhook),
    }
    if world.clocks:
        found["the clock of a server jumps"] = lambda: chance.choice(world.clocks).jumped(chance.choice(_JUMPS))
    return found


def _storm(world: World, links: Sequence[Link], weather: Weather, chance: random.Random) -> AbstractContextManager[None]:
    return world.links.under(weather, chance.choice(links))


def _isolate(world: World, weather: Weather, chance: random.Random) -> AbstractContextManager[None]:
    return world.links.under(weather, *chance.choice(world.to_etcd))


@contextmanager
def _killed(service: Service) -> Iterator[None]:
    """Kill a program for the block, and start it again at its end. Other faults may delay its readiness."""
    service.process.signal(signal.SIGCONT)
    service.kill()
    try:
        yield
    finally:
        service.process.start()


@contextmanager
def _paused(service: Service) -> Iterator[None]:
    service.process.pause()
    try:
        yield
    finally:
        service.process.resume()


@contextmanager
def _slow(delays: Sequence[Path]) -> Iterator[None]:
    with ExitStack() as stack:
        for delay in delays:
            stack.enter_context(slow_disk.slowed(delay, _SLOW_DISK_MS))
        yield
