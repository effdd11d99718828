"""Processor time and memory of processes, from /proc."""

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_MIB: Final = 1024
"""KiB in a MiB."""
_SETTLED_MIB: Final = 0.25
"""Growth between two looks that counts as none."""
_LOOK_SECONDS: Final = 1.0
_LOOKS: Final = 20
_IDLE_PART: Final = 0.1
"""The part of a processor that idle servers use at most, for timers and probes."""


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the user and system time of the processes and their ended children in seconds; a process that has ended has none."""
    return sum(map(_cpu_seconds, pids))


def resident_mib(pids: Iterable[int]) -> float:
    """Return the resident memory of the processes in MiB; a process that has ended has none."""
    return sum(map(_resident_mib, pids))


def wakeups(pids: Iterable[int]) -> int:
    """Return how often the threads of the processes have waited for something."""
    return sum(map(_wakeups, pids))


def settled_mib(pids: Iterable[int]) -> float:
    """Return the memory of idle processes as `proportional_mib` once it stops growing, so that late imports count too."""
    pids, found = list(pids), 0.0
    for _ in range(_LOOKS):
        before, found = found, proportional_mib(pids)
        if found - before < _SETTLED_MIB:
            break
        time.sleep(_LOOK_SECONDS)
    return found


def wait_until_idle(pids: Iterable[int]) -> None:
    """Return when the processes have used hardly any processor time between two looks, or after `_LOOKS` looks."""
    pids = list(pids)
    used = cpu_seconds(pids)
    for _ in range(_LOOKS):
        time.sleep(_LOOK_SECONDS)
        before, used = used, cpu_seconds(pids)
        if used - before < _IDLE_PART * _LOOK_SECONDS:
            break


def proportional_mib(pids: Iterable[int]) -> float:
    """Return the memory of the processes in MiB; of a page that several processes share, each has its part."""
    return sum(map(_proportional_mib, pids))


def process_tree(pid: int) -> list[int]:
    """Return the process with all its descendants. `resident_mib` counts shared pages for each of them."""
    found = [pid]
    for parent in found:
        found += children(parent)
    return found


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(child) for text in _of_threads(pid, "children") for child in text.split()]


def _of_threads(pid: int, name: str) -> Iterator[str]:
    """Yield the text of a file of each thread of a process, of none that ends meanwhile."""
    # also the search fails for a process that has ended
    with suppress(OSError):
        for path in Path(f"/proc/{pid}/task").glob(f"*/{name}"):
            with suppress(OSError):
                yield path.read_text()


def _cpu_seconds(pid: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS
    return 0.0


def _wakeups(pid: int) -> int:
    texts = _of_threads(pid, "status")
    return sum(int(text.partition("\nvoluntary_ctxt_switches:")[2].split(maxsplit=1)[0]) for text in texts)


def _resident_mib(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / _MIB
    return 0.0


def _proportional_mib(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / _MIB
    return 0.0
