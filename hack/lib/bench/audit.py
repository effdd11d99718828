"""Measures the cost of audit at level Metadata (`hack/bench --audit`) for kube-apiserver and apiext, each with and without it.

The four servers run side by side on one etcd, and take turns. The log is a file, in the default mode.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hack.lib.bench import loadgen, targets, workload
from hack.lib.bench.client import Client
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.resources import cpu_seconds, process_tree

ROWS: Final = ("get", "create")
_POLICY: Final = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"
_MEASURED: Final = ("per second", "ms of processor time")


@dataclass(slots=True)
class Side:
    """A server, with or without audit, and its measurements by row and round."""

    access: dict[str, str]
    pids: Callable[[], Sequence[int]]
    rates: dict[str, list[float]] = field(default_factory=dict)
    """Requests per second."""
    costs: dict[str, list[float]] = field(default_factory=dict)
    """Milliseconds of the server's processor time per request."""

    def measure(self, binary: Path, row: workload.Row) -> None:
        """Run a row once."""
        before = cpu_seconds(self.pids())
        result = loadgen.run(binary, **self.access, Clients=workload.CLIENTS, **row.run)
        self.costs.setdefault(row.name, []).append((cpu_seconds(self.pids()) - before) / result.requests * 1000)
        self.rates.setdefault(row.name, []).append(result.rate)


Pair = tuple[Side, Side]
"""A server without audit, and the same with it."""


def main(*, objects: int, seconds: float, rounds: int, reference: bool, only: Sequence[str]) -> int:
    """Print the table, of the rows `only` if there are any, and return 0."""
    binary = loadgen.build()
    names = [name for name in ROWS if name in only or not only]
    with tempfile.TemporaryDirectory(prefix="apiext-audit-") as name, ExitStack() as stack:
        folder = Path(name)
        policy = folder / "policy.yaml"
        policy.write_text(_POLICY)
        etcd = stack.enter_context(Etcd(folder / "etcd"))
        pairs: dict[str, Pair] = {}
        for kind, started in (("kube-apiserver", _reference), ("apiext", _apiext)):
            if reference or started is _apiext:
                first, second = (stack.enter_context(started(folder / f"{kind}-{place}", etcd, audit)) for place, audit in _sides(policy))
                pairs[kind] = first, second
        _measure(binary, [side for pair in pairs.values() for side in pair], names, objects, seconds, rounds)
    print(f"{os.cpu_count()} processors; medians of {rounds} rounds; {objects} objects; {workload.CLIENTS} clients; policy: level Metadata")
    print(table(pairs, names))
    return 0


def _sides(policy: Path) -> tuple[tuple[str, Path | None], ...]:
    return ("plain", None), ("audited", policy)


def _flags(folder: Path, policy: Path | None) -> list[str]:
    return [] if policy is None else [f"--audit-policy-file={policy}", f"--audit-log-path={folder / 'audit.log'}"]


@contextmanager
def _reference(folder: Path, etcd: Etcd, policy: Path | None) -> Iterator[Side]:
    plane = ControlPlane(folder, etcd_url=etcd.url, etcd_prefix=f"/{folder.name}", extra_args=_flags(folder, policy))
    with plane:
        targets.bind_users(plane)
        access = targets.access(plane.url, plane.ca, plane.authority, targets.USER)
        yield Side(access, lambda: [plane.apiserver.pid])


@contextmanager
def _apiext(folder: Path, etcd: Etcd, policy: Path | None) -> Iterator[Side]:
    users = Authority(folder / "users", "users")
    arguments = [f"--client-ca-file={users.cert}", *_flags(folder, policy)]
    server = ApiextServer(folder, etcd_url=etcd.url, etcd_prefix=f"/{folder.name}", extra_args=arguments)
    with server:
        yield Side(targets.access(server.url, server.ca, users, targets.USER), lambda: process_tree(server.pid))


def _measure(binary: Path, sides: Sequence[Side], names: Sequence[str], objects: int, seconds: float, rounds: int) -> None:
    crd = workload.crd()
    rows = {row.name: row for row in workload.rows(objects, seconds)}
    for side in sides:
        client = Client(side.access)
        client.serve(crd)
        client.wait_until_writable(crd)
        # the objects of the gets; also the warm-up, which is no round
        side.measure(binary, rows["create"])
        side.rates.clear()
        side.costs.clear()
    for turn in range(rounds):
        for name in names:
            row = rows[name]
            if name == "create":
                row = workload.Row(name, row.run | {"Body": workload.body(f"round-{turn}")})
            for side in sides if turn % 2 else reversed(sides):
                side.measure(binary, row)
        print(f"  round {turn + 1} of {rounds}", file=sys.stderr, flush=True)


def table(pairs: dict[str, Pair], names: Sequence[str]) -> str:
    """Return the figures as a Markdown table. The share that is kept of processor time is that of requests in the same time."""
    lines = [["", *(cell for kind in pairs for cell in (kind, "with audit", "kept"))]]
    lines.append(["---"] * len(lines[0]))
    for name in names:
        for measured in _MEASURED:
            cells = [f"{name}, {measured}"]
            for pair in pairs.values():
                by_rate = measured == _MEASURED[0]
                plain, audited = (statistics.median((side.rates if by_rate else side.costs)[name]) for side in pair)
                shown = "{:,.0f}" if by_rate else "{:.3f}"
                cells += [shown.format(plain), shown.format(audited), f"{audited / plain if by_rate else plain / audited:.1%}"]
            lines.append(cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
