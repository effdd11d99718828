"""Runs hostile inputs against a target, with an ordinary client beside them."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Final

from hack.lib.soak import observation
from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import ATTACKED, KEPT, NAMESPACES
from hack.lib.soak.observation import LogTail, MemoryPeak, Outcome, memory
from hack.lib.soak.ordinary_client import OrdinaryClient
from hack.lib.soak.targets import Target

Input = Callable[[Attack], None]
OBJECTS: Final = 3000
"""Number of permanent objects."""
_QUIET: Final = 3.0
"""Seconds of the row without input."""


def name_of(run: Input) -> str:
    """Return the name of an input, for selection and reports."""
    return run.__name__.replace("_", "-")


def outcomes(
    target: Target, inputs: Sequence[Input], *, seconds: float = 0.0, objects: int = OBJECTS, reduced: bool = False
) -> Iterator[Outcome]:
    """Fill the target, and yield the outcome of each input (repeated for `seconds`) and of all together.

    Start an ended server again. Do not wait for the return of memory after each reduced input.
    """
    target.fill(objects)
    warm_up(target.attack())
    log = LogTail(target.server.process.log)
    before = memory(target.server.pid)
    with ExitStack() as stack:
        paths = [f"{KEPT}/kept-0", *([f"{NAMESPACES}/default"] if target.has_host else [])]
        clients = [stack.enter_context(OrdinaryClient(target.front, path)) for path in paths]
        for run in inputs:
            for client in clients:
                client.observations()
            yield _observe(target, run, clients, log, seconds=seconds, reduced=reduced)
            if not target.server.process.running:
                target.server.start()
    allowed = observation.MAX_REMAINING_OF_ALL_MIB
    yield Outcome("all-inputs", Counter(), remaining_mib=observation.settled(target.server, before, allowed), allowed_mib=allowed)


def nothing(_attack: Attack) -> None:
    """Do nothing; the row shows the noise of the machine."""
    time.sleep(_QUIET)


def warm_up(attack: Attack) -> None:
    """Send the requests of ordinary clients, so that later rows do not contain the memory of modules and caches."""
    for accept in ("application/json", "application/yaml", "application/json;as=Table;g=meta.k8s.io;v=v1"):
        attack.ask("GET", KEPT, headers={"Accept": accept})
    attack.ask("GET", "/openapi/v2")


def _observe(target: Target, run: Input, clients: Sequence[OrdinaryClient], log: LogTail, *, seconds: float, reduced: bool) -> Outcome:
    server, pid = target.server, target.server.pid
    attack = target.attack(reduced=reduced)
    outcome = Outcome(name_of(run), attack.answers)
    before, start = memory(pid), time.monotonic()
    with MemoryPeak(pid) as peak:
        run(attack)
        while time.monotonic() < start + seconds and server.process.running:
            run(attack)
        outcome.seconds = time.monotonic() - start
        attack.ask("DELETE", ATTACKED)
        outcome.observations, *outcome.host = [client.observations() for client in clients]
    outcome.peak_mib = peak.mib - before
    outcome.remaining_mib = 0.0 if reduced else observation.settled(server, before)
    outcome.ended = not server.process.running
    observation.inspect_log(outcome, log.lines())
    return outcome
