"""Measures an idle server, and how soon a new process serves its first CRD."""

import time
from collections.abc import Sequence
from typing import Any, Final

from hack.lib.bench import workload
from hack.lib.bench.client import Client
from hack.lib.bench.targets import Target
from hack.lib.servers import resources

LABEL: Final = "first CRD"
_ROUNDS: Final = 5
_IDLE_SECONDS: Final = 1.0
"""Seconds in which a new process may prepare for requests."""
_WATCHED_SECONDS: Final = 10.0


def measure_idle(target: Target) -> dict[str, float]:
    """Return the memory of the settled server, and how often its threads wake up without a request."""
    settled = resources.settled_mib(target.pids())
    before = resources.wakeups(target.pids())
    time.sleep(_WATCHED_SECONDS)
    woken = resources.wakeups(target.pids()) - before
    return {"memory idle, MiB": settled, "wake-ups idle, 1/s": woken / _WATCHED_SECONDS}


def measure_first(target: Target) -> dict[str, float]:
    """Return the median milliseconds until a new process serves its first CRD, at once and after a second without requests."""
    found = {
        "first CRD of a process to first 200, ms": [_first(target, f"early{number}s", 0) for number in range(_ROUNDS)],
        "  after a second, ms": [_first(target, f"later{number}s", _IDLE_SECONDS) for number in range(_ROUNDS)],
    }
    return {label: _median(times) for label, times in found.items()}


def _first(target: Target, plural: str, idle: float) -> float:
    target.restart()
    client = Client(target.access())
    client.call("GET", "/readyz")
    time.sleep(idle)
    crd: dict[str, Any] = workload.crd(plural, plural.capitalize())
    return client.serve(crd)


def _median(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2]
