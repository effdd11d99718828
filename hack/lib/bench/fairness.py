"""Measures GETs of one user, alone and while another user lists without pause, from many connections or a long collection."""

import contextlib
import math
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

from hack.lib.bench import loadgen, workload
from hack.lib.bench.client import Client
from hack.lib.bench.targets import OTHER_USER, Target

ROW: Final = "get beside lists"
_OBJECTS: Final = 3000
_CONNECTIONS: Final = 100
_INTERVAL: Final = 0.05
_START_UP: Final = 1.0
"""Seconds in which the listing connections open."""


def measure(target: Target, binary: Path, seconds: float) -> dict[str, float]:
    """Return the figures of a target. It must serve the definition of the workload, without objects."""
    access, fill = target.access(), workload.fill(_OBJECTS)
    loadgen.run(binary, **access, Clients=workload.CLIENTS, **fill)
    path = f"{workload.COLLECTION}/load-1"
    figures = {"GET every 50 ms alone, p99 ms": _p99(target, path, seconds)}
    lists = {"Method": "GET", "Path": workload.COLLECTION, "Seconds": seconds + _START_UP, "Objects": _OBJECTS}
    with ThreadPoolExecutor(1) as pool:
        listing = pool.submit(loadgen.run, binary, **access, Clients=_CONNECTIONS, **lists)
        time.sleep(_START_UP)
        figures[f"GET every 50 ms beside {_CONNECTIONS} connections that list {_OBJECTS} objects, p99 ms"] = _p99(target, path, seconds)
        if (lists_beside := _ended(target, listing)) is not None:
            figures["lists beside it, per second"] = lists_beside.rate
    removal = {"Method": "DELETE", "Path": f"{workload.COLLECTION}/load-{{i}}", "ContentType": "", "Body": ""}
    loadgen.run(binary, **access, Clients=workload.CLIENTS, **(fill | removal))
    return figures


def measure_beside_one(target: Target, binary: Path, objects: int, seconds: float) -> dict[str, float]:
    """Return the figure of GETs beside one client that lists a long collection again and again. It must have so many objects."""
    lists = {"Method": "GET", "Path": workload.COLLECTION, "Seconds": seconds + _START_UP, "Objects": objects}
    with ThreadPoolExecutor(1) as pool:
        listing = pool.submit(loadgen.run, binary, **target.access(), Clients=1, **lists)
        time.sleep(_START_UP)
        figure = _p99(target, f"{workload.COLLECTION}/load-1", seconds)
        _ended(target, listing)
    return {f"GET every 50 ms beside one client that lists {objects} objects, p99 ms": figure}


def _ended(target: Target, listing: Future[loadgen.Result]) -> loadgen.Result | None:
    """Wait until the lists end, and return their result. A list that failed must not lose the other measurements."""
    try:
        return listing.result()
    except loadgen.LoadError as error:
        print(f"  {target.name}: {ROW}: {error}", file=sys.stderr, flush=True)
        return None


def _p99(target: Target, path: str, seconds: float) -> float:
    """Return the 99th percentile of the milliseconds of a user's GETs."""
    client, times = Client(target.access(OTHER_USER)), []
    end = time.monotonic() + seconds
    with _before_other_threads():
        while (start := time.monotonic()) < end:
            client.call("GET", path)
            taken = time.monotonic() - start
            times.append(taken * 1000)
            time.sleep(max(0.0, _INTERVAL - taken))
    return sorted(times)[math.ceil(0.99 * len(times)) - 1]


@contextlib.contextmanager
def _before_other_threads() -> Iterator[None]:
    """Give this thread priority: waits for a processor that the load generator uses must not count for the server."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        print(f"  {ROW}: real-time priority is not allowed: the client's own waits for a processor count", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
