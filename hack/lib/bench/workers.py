"""Measures one process against several workers (`hack/bench --workers N`) by processor time.

All processes of a server share the first processor, and the load generator has the last one. Both yield to others, the servers more: so
they are always busy, as they are on processors of their own under full load. A process that often waits for requests handles fewer of them
in a turn of its event loop, and needs more time for each. Rounds alternate. The rate of N busy processors is computed: N times the
efficiency.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hack.lib.bench import loadgen, targets, workload
from hack.lib.bench.client import Client
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.resources import cpu_seconds, process_tree, proportional_mib

_CACHED: Final = "get, resourceVersion=0"
"""A get that does not ask the store for its revision, which each process asks for the requests of a turn together."""
ROWS: Final = ("get", _CACHED, "list of all", "list, limit=500", "merge patch", "watch fan-out")
_CLIENTS: Final = 16
"""Clients of each process. The watchers of the fan-out are so many for each process, too: a worker is added for more of them."""
_NICENESS: Final = 5
_SERVERS_NICENESS: Final = 19
_MIB_ROWS: Final = ("memory idle, MiB", "memory after this run, MiB")


@dataclass(slots=True)
class _Side:
    """A server under comparison with its measurements."""

    server: ApiextServer
    access: dict[str, str]
    workers: int
    per_second: dict[str, list[float]] = field(default_factory=dict)
    """Requests or events for each second of processor time, by row and round."""
    rates: dict[str, list[float]] = field(default_factory=dict)
    """The same for each second."""
    memory: dict[str, float] = field(default_factory=dict)
    """Memory in MiB, with shared pages counted in parts."""

    def pids(self) -> list[int]:
        """Return the processes of the server."""
        return process_tree(self.server.pid)

    def memory_mib(self) -> float:
        """Return the memory of the processes."""
        return proportional_mib(self.pids())

    def measure(self, binary: Path, row: workload.Row) -> None:
        """Run a row once."""
        before = cpu_seconds(self.pids())
        run = {name: value * self.workers if name == "Watchers" else value for name, value in row.run.items()}
        result = loadgen.run_command([*_prefix(), binary], {**self.access, "Clients": _CLIENTS * self.workers, **run})
        count = result.events or result.requests
        self.per_second.setdefault(row.name, []).append(count / max(0.01, cpu_seconds(self.pids()) - before))
        self.rates.setdefault(row.name, []).append(result.rate)


def main(workers: int, *, objects: int, seconds: float, rounds: int, only: Sequence[str]) -> int:
    """Print the table, of the rows `only` if there are any, and return 0."""
    binary = loadgen.build()
    with tempfile.TemporaryDirectory(prefix="apiext-workers-") as folder:
        etcd = Etcd(Path(folder) / "etcd")
        etcd.start()
        try:
            sides = [_measured(Path(folder), etcd, count) for count in (1, workers)]
            try:
                _measure(binary, sides, [name for name in ROWS if name in only or not only], objects, seconds, rounds)
            finally:
                for side in sides:
                    side.server.stop()
        finally:
            etcd.stop()
    print(f"{os.cpu_count()} processors; medians of {rounds} rounds of {seconds:g} s; {objects} objects")
    print(f"{_CLIENTS} clients and {workload.WATCHERS} watchers for each process")
    print(_table(*sides))
    return 0


def _prefix() -> Sequence[str]:
    """Return the command that runs the load generator on the last processor, behind the servers."""
    return ("taskset", "-c", str(max(os.sched_getaffinity(0))), "nice", "-n", str(_NICENESS))


def _measured(folder: Path, etcd: Etcd, workers: int) -> _Side:
    """Return a started server with so many workers on the first processor."""
    own = folder / str(workers)
    users = Authority(own / "users", "users")
    arguments = [f"--client-ca-file={users.cert}", f"--workers={workers}"]
    server = ApiextServer(own, etcd_url=etcd.url, etcd_prefix=f"/workers-{workers}", extra_args=arguments)
    allowed = os.sched_getaffinity(0)
    # its processes inherit it
    os.sched_setaffinity(0, {min(allowed)})
    try:
        server.start()
    finally:
        os.sched_setaffinity(0, allowed)
    for pid in process_tree(server.pid):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), _SERVERS_NICENESS)
    return _Side(server, targets.access(server.url, server.ca, users, targets.USER), workers)


def _measure(binary: Path, sides: Sequence[_Side], names: Sequence[str], objects: int, seconds: float, rounds: int) -> None:
    crd = workload.crd()
    for side in sides:
        client = Client(side.access)
        client.serve(crd)
        client.wait_until_writable(crd)
        side.memory[_MIB_ROWS[0]] = side.memory_mib()
    rows = {row.name: row for row in workload.rows(objects, seconds)}
    get = rows["get"].run
    rows[_CACHED] = workload.Row(_CACHED, get | {"Path": f"{get['Path']}?resourceVersion=0"})
    for side in sides:
        side.measure(binary, rows["create"])
    for turn in range(rounds):
        for name in names:
            for side in sides if turn % 2 else reversed(sides):
                side.measure(binary, rows[name])
        print(f"  round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
    for side in sides:
        side.memory[_MIB_ROWS[1]] = side.memory_mib()


def _table(one: _Side, several: _Side) -> str:
    """Return the figures as a Markdown table."""
    count = several.workers
    lines: list[list[Any]] = [
        ["", "1 process", f"{count} workers", "efficiency", f"rate of {count} busy processors (computed)", "measured rates"],
        ["---"] * 6,
    ]
    for name in (name for name in ROWS if name in one.per_second):
        first, second = statistics.median(one.per_second[name]), statistics.median(several.per_second[name])
        rates = statistics.median(one.rates[name]), statistics.median(several.rates[name])
        measured = f"{rates[0]:,.0f} and {rates[1]:,.0f} per second"
        efficiency = second / first
        costs = f"{first:,.0f} per CPU second", f"{second:,.0f} per CPU second"
        lines.append([name, *costs, f"{efficiency:.0%}", f"{count * efficiency:.2f} times", measured])
    for label in _MIB_ROWS:
        further = (several.memory[label] - one.memory[label]) / (count - 1)
        totals = f"{one.memory[label]:.0f}", f"{several.memory[label]:.0f}"
        lines.append([label, *totals, "", "", f"{further:.0f} MiB for each further worker"])
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)
