"""Measures the first heavy work of new processes on a busy machine, and light work beside heavy work (`hack/bench --loaded`).

kube-apiserver and apiext run beside each other, with two busy loops for each processor. Each first request is sent to a process of its own
as soon as that has ended its start; what the request needs is stored before. Requests that fail are counted.
"""

import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from hack.lib.bench import admission, loadgen, report, targets, workload
from hack.lib.bench.client import Client
from hack.lib.definitions import definition
from hack.lib.servers import resources

Json = dict[str, Any]
_LOOPS: Final = 2
"""Busy loops for each processor."""
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_PLURAL: Final = "firsts"
_OBJECTS: Final = workload.collection(_PLURAL)
_PATCHED: Final = workload.collection("patcheds")
_MATCHED: Final = workload.collection("matcheds")
_POLICED: Final = workload.collection("policeds")
_NESTED: Final = "object.spec.items.all(a, object.spec.items.all(b, object.spec.items.all(c, a + b + c >= 0)))"
_FEW: Final = 20
_MANY: Final = 50
"""Items of an object whose policy takes long, within the reference's limit of cost."""
_BESIDE: Final = 5
"""Rounds of light requests beside heavy ones."""


@dataclass(slots=True)
class Measured:
    """The measurements of a target; implements report.Figures."""

    figures: dict[str, float] = field(default_factory=dict)
    results: dict[str, loadgen.Result] = field(default_factory=dict)
    cpu: dict[str, report.Processors] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)


def main(*, rounds: int, reference: bool) -> int:
    """Print the table, of medians over rounds, and return 0."""
    with tempfile.TemporaryDirectory(prefix="apiext-loaded-") as name, ExitStack() as stack:
        chosen: list[targets.Target] = [targets.Reference(Path(name) / "reference")] if reference else []
        chosen.append(targets.Apiext(Path(name) / "apiext"))
        for target in chosen:
            stack.callback(target.stop)
            target.start()
            _prepare(Client(target.access()))
        stack.enter_context(_busy())
        found = {target.name: _Times(target) for target in chosen}
        for number in range(rounds):
            for times in found.values():
                times.measure(number)
        load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, {_LOOPS} busy loops for each, load {load:.0f}; medians of {rounds} rounds")
    print(report.table({name: times.measured() for name, times in found.items()}, []))
    return 0


class _Times:
    """The times of one target."""

    def __init__(self, target: targets.Target) -> None:
        self._target = target
        self._access = target.access()
        self._found: dict[str, list[float]] = {}
        self._failures = 0

    def measure(self, number: int) -> None:
        """Measure each request once, the firsts in processes of their own."""
        for label, request in firsts(number).items():
            self._target.restart()
            resources.wait_until_idle(self._target.pids())
            client = Client(self._access)
            client.call("GET", "/readyz")
            self._time(f"first {label}, ms", partial(request, client))
        with _heavy_writes(self._access, number):
            for one in range(_BESIDE):
                for label, request in beside(f"{number}-{one}").items():
                    client = Client(self._access)
                    self._time(f"{label} beside a heavy write, ms", partial(request, client))

    def measured(self) -> Measured:
        """Return the medians, and the number of failures."""
        figures = {label: statistics.median(times) for label, times in self._found.items()}
        longest = {f"  longest {label}": max(times) for label, times in self._found.items() if "beside" in label}
        return Measured(figures | longest | {"requests that failed": self._failures})

    def _time(self, label: str, request: Callable[[], int]) -> None:
        start = time.monotonic()
        try:
            code: object = request()
        except (OSError, RuntimeError, http.client.HTTPException) as error:
            code = error
        taken = (time.monotonic() - start) * 1000
        print(f"  {self._target.name}: {label}: {taken:,.0f}", file=sys.stderr, flush=True)
        if code not in (http.client.OK, http.client.CREATED):
            self._failures += 1
            print(f"  {self._target.name}: {label}: failed with {code}", file=sys.stderr, flush=True)
        self._found.setdefault(label, []).append(taken)


def firsts(number: int) -> dict[str, Callable[[Client], int]]:
    """Return the first requests of a round by label. Each returns the status."""
    return {
        "CRD": lambda client: _served(client, workload.crd(f"plain{number}s", f"Plain{number}")),
        "rule": lambda client: client.call("POST", workload.collection("ruleds"), _object("Ruled", f"r{number}", {"low": 1, "high": 2})),
        "policy": lambda client: client.call("POST", _POLICED, _object("Policed", f"p{number}", {"items": [1] * _FEW})),
        "520 KB CRD": lambda client: client.call("POST", _CRDS, large_crd(f"half{number}s", 520_000)),
        "1 MB body": lambda client: client.call("POST", _OBJECTS, _object("First", f"b{number}", {"parts": ["x" * 1000] * 1000})),
    }


def beside(name: str) -> dict[str, Callable[[Client], int]]:
    """Return light requests by label. Each returns the status."""
    patch = f"{_PATCHED}/one?fieldManager=bench"
    label = {"metadata": {"labels": {"round": name}}}
    plural = f"beside{name.replace('-', 'x')}s"
    return {
        "create with a pattern": lambda client: client.call("POST", _MATCHED, _object("Matched", f"m{name}", {"a": "abc"})),
        "label patch": lambda client: client.merge(patch, label),
        "129 KB CRD": lambda client: client.call("POST", _CRDS, large_crd(plural, 129_000)),
    }


def large_crd(plural: str, size: int) -> bytes:
    """Return a CRD of about so many bytes, in JSON."""
    described = {"type": "string", "description": "d" * 200, "maxLength": 100, "pattern": "^[a-z]*$"}
    count = size // (len(json.dumps(described)) + len('"field-0000": , '))
    schema = {"type": "object", "properties": {f"field-{number:04}": described for number in range(count)}}
    return json.dumps(_crd(plural, {"spec": schema})).encode()


def _crd(plural: str, properties: Json) -> Json:
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    kind = plural.removesuffix("s").capitalize()
    return definition(workload.GROUP, plural, kind, {"name": "v1", "served": True, "storage": True, "schema": schema})


def _prepare(client: Client) -> None:
    """Store what the requests need."""
    number: Json = {"type": "integer"}
    any_spec: Json = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    rules = [{"rule": f"self.low + {extra} <= self.high + {extra}"} for extra in range(10)]
    ruled = {"type": "object", "properties": {"low": number, "high": number}, "x-kubernetes-validations": rules}
    matched = {"a": {"type": "string", "maxLength": 100}}
    specs = {
        _PLURAL: any_spec,
        "patcheds": any_spec,
        "ruleds": ruled,
        "policeds": {"type": "object", "properties": {"items": {"type": "array", "maxItems": 100, "items": number}}},
        "matcheds": {"type": "object", "properties": matched, "x-kubernetes-validations": [{"rule": "self.a.matches('^[a-z]+$')"}]},
    }
    for plural, spec in specs.items():
        crd = _crd(plural, {"spec": spec})
        client.serve(crd)
        client.wait_until_writable(crd)
    _must(client.call("POST", _PATCHED, _object("Patched", "one", {})))
    for one in admission.policy("nested", "policeds", _NESTED):
        _must(client.call("POST", admission.path(one), one))


def _must(code: int) -> None:
    if code != http.client.CREATED:
        raise RuntimeError(f"what the measurements need is not created: {code}")


def _object(kind: str, name: str, spec: Json) -> Json:
    return {"apiVersion": f"{workload.GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def _served(client: Client, crd: Json) -> int:
    client.serve(crd)
    return int(http.client.OK)


@contextlib.contextmanager
def _heavy_writes(access: dict[str, str], number: int) -> Iterator[None]:
    """Create objects whose policy takes long, one after the other, within the block."""
    ended = threading.Event()

    def write() -> None:
        client, count = Client(access), 0
        while not ended.is_set():
            count += 1
            with contextlib.suppress(OSError, http.client.HTTPException):
                client.call("POST", _POLICED, _object("Policed", f"heavy{number}-{count}", {"items": [1] * _MANY}))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        ended.set()
        writer.join()


@contextlib.contextmanager
def _busy() -> Iterator[None]:
    """Keep all processors busy within the block."""
    with ExitStack() as stack:
        for _ in range(_LOOPS * (os.cpu_count() or 1)):
            loop = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(loop.kill)
        yield
