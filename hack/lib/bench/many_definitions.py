"""Measures many real CRDs: how fast they are created and served, a start with them, and the first request of each."""

import concurrent.futures
import http
import itertools
import json
import queue
import statistics
import threading
import time
from dataclasses import dataclass
from typing import Any, Final

from hack.lib.bench.client import Client
from hack.lib.bench.targets import Target
from hack.lib.real_crds import real_crds

LABEL: Final = "many CRDs"
_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_CLIENTS: Final = 8
_PATIENCE: Final = 60.0
"""Seconds until a definition must be served."""
_POLL: Final = 0.005
"""Seconds between two requests for a collection that is not served yet."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A definition to create."""

    body: bytes
    collection: str
    """The path of its objects in the storage version."""


def prepare(count: int) -> list[Prepared]:
    """Return real definitions, copied into other groups until there are so many; none without real ones."""
    found = real_crds()
    copies = ((copy, crd) for copy in itertools.count() for crd in found) if found else ()
    return [_copied(crd, copy) for copy, crd in itertools.islice(copies, count)]


def _copied(crd: dict[str, Any], copy: int) -> Prepared:
    spec, meta = crd["spec"], crd["metadata"]
    group, plural = f"copy{copy}.{spec['group']}", spec["names"]["plural"]
    written = crd | {
        "metadata": {"name": f"{plural}.{group}", "annotations": meta.get("annotations") or {}},
        # a webhook that does not answer is not measured here
        "spec": spec | {"group": group, "conversion": {"strategy": "None"}},
    }
    written.pop("status", None)
    version = next(version["name"] for version in spec["versions"] if version["served"])
    return Prepared(json.dumps(written).encode(), f"/apis/{group}/{version}/{plural}")


def measure(target: Target, count: int) -> dict[str, float]:
    """Return the figures; none without real definitions. Restarts the target."""
    prepared = prepare(count)
    if not prepared:
        return {}
    access = target.access()
    begin = time.monotonic()
    waits = _create_all(access, prepared)
    rate = len(prepared) / (time.monotonic() - begin)
    figures = {
        f"{count} real CRDs created and served, per second": rate,
        "  created to first 200, median, ms": 1000 * statistics.median(waits),
        "  created to first 200, slowest, ms": 1000 * max(waits),
    }
    begin = time.monotonic()
    target.restart()
    figures["  restart with these to ready, s"] = time.monotonic() - begin
    firsts = _first_requests(Client(access), prepared)
    figures["  first request of each, median, ms"] = 1000 * statistics.median(firsts)
    figures["  first request of each, slowest, ms"] = 1000 * max(firsts)
    return figures


def _create_all(access: dict[str, str], prepared: list[Prepared]) -> list[float]:
    """Create the definitions from several connections, and return the seconds until each was served."""
    waiting: queue.SimpleQueue[Prepared] = queue.SimpleQueue()
    for one in prepared:
        waiting.put(one)
    stopped = threading.Event()

    def work() -> list[float]:
        client, waits = Client(access), []
        while not stopped.is_set():
            try:
                waits.append(_serve(client, waiting.get_nowait()))
            except queue.Empty:
                return waits
            except Exception:
                stopped.set()
                raise
        return waits

    with concurrent.futures.ThreadPoolExecutor(_CLIENTS) as threads:
        return [wait for done in [threads.submit(work) for _ in range(_CLIENTS)] for wait in done.result()]


def _serve(client: Client, one: Prepared) -> float:
    begin = time.monotonic()
    code = client.call("POST", _PATH, one.body)
    if code != http.HTTPStatus.CREATED:
        raise RuntimeError(f"creating the CRD of {one.collection} failed with {code}")
    while client.call("GET", one.collection) != http.HTTPStatus.OK:
        if time.monotonic() > begin + _PATIENCE:
            raise RuntimeError(f"{one.collection} is not served")
        time.sleep(_POLL)
    return time.monotonic() - begin


def _first_requests(client: Client, prepared: list[Prepared]) -> list[float]:
    """Return the seconds of the first successful request for each collection: a server may serve them some time after it is ready."""
    client.call("GET", "/readyz")
    found, deadline = [], time.monotonic() + _PATIENCE
    for one in prepared:
        begin = time.monotonic()
        while client.call("GET", one.collection) != http.HTTPStatus.OK:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{one.collection} is not served after the restart")
            time.sleep(_POLL)
            begin = time.monotonic()
        found.append(time.monotonic() - begin)
    return found
