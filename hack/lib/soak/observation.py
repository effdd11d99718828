"""Observes a server during one input: answers, memory, log and process."""

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from hack.lib.pausable import Pausable
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.resources import process_tree, proportional_mib
from hack.lib.soak.ordinary_client import ClientObservations
from hack.lib.waiting import until

MAX_STALL_MS: Final = 100.0
"""Goal for the slowest request of the ordinary client on a quiet machine, in milliseconds. Behind kube-apiserver its own stall is added."""
MAX_REMAINING_MIB: Final = 50.0
"""Goal for the remaining memory."""
MAX_REMAINING_OF_ALL_MIB: Final = 200.0
"""Goal for the remaining memory of all inputs together: caches, indexes and the history of changes may be full then."""
MAX_LOG_LINE: Final = 4096
"""Goal for the length of a log line in bytes."""
_SETTLED_WITHIN: Final = 90.0
"""Maximum of seconds until memory returns: idle workers end, and the history of changes expires after 75 s."""
_SAMPLE_INTERVAL: Final = 0.02
_ERRORS: Final = (b"Traceback", b"exception was never retrieved", b"was never awaited", b"Fatal Python error")


@dataclass
class Outcome:
    """The effects of one input; memory in MiB above the memory before it."""

    name: str
    answers: Counter[tuple[int, str]]
    """See Attack."""
    observations: ClientObservations = field(default_factory=ClientObservations)
    host: list[ClientObservations] = field(default_factory=list)
    """The observations of an ordinary client of kube-apiserver's own resources, if there is a host."""
    peak_mib: float = 0.0
    remaining_mib: float = 0.0
    allowed_mib: float = MAX_REMAINING_MIB
    longest_line: int = 0
    errors: list[str] = field(default_factory=list)
    """Log lines of unhandled errors."""
    ended: bool = False
    """Whether the server's process ended."""
    seconds: float = 0.0

    @property
    def host_stall_ms(self) -> float:
        """Return the slowest request to kube-apiserver's own resources in milliseconds, 0 without a host."""
        return max((seen.slowest_ms for seen in self.host), default=0.0)

    @property
    def worst(self) -> int:
        """Return the highest status code, 0 without any answer."""
        return max((status for status, _ in self.answers), default=0)

    def violations(self, *, timed: bool = True) -> list[str]:
        """Return the missed goals; without `timed`, ignore goals that a loaded machine misses."""
        found = [f"{status} {message}" for status, message in self.answers if message]
        if timed and self.observations.slowest_ms > MAX_STALL_MS + self.host_stall_ms:
            found.append(f"a stall of {self.observations.slowest_ms:,.0f} ms")
        if self.observations.failures:
            found.append(f"the ordinary client got {', '.join(sorted(set(self.observations.failures)))}")
        if self.remaining_mib > self.allowed_mib:
            found.append(f"{self.remaining_mib:,.0f} MiB remain")
        if self.longest_line > MAX_LOG_LINE:
            found.append(f"a log line of {self.longest_line:,} bytes")
        found += self.errors[:1]
        if self.ended:
            found.append("the process ended")
        return found


class LogTail:
    """Reads the new lines of a log."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = path.stat().st_size

    def lines(self) -> list[bytes]:
        """Return the complete and incomplete lines since the last call."""
        with self._path.open("rb") as log:
            log.seek(self._read)
            data = log.read()
        self._read += len(data)
        return data.splitlines()


class MemoryPeak(Pausable):
    """Samples the memory of a process and its children during the block; `mib` is the highest."""

    def __init__(self, pid: int) -> None:
        super().__init__()
        self._pid = pid
        self.mib = 0.0

    def _run(self) -> None:
        while not self._ended.wait(_SAMPLE_INTERVAL):
            self.mib = max(self.mib, memory(self._pid))


def memory(pid: int) -> float:
    """Return the memory of a process and its children in MiB; pages that they share count once."""
    return proportional_mib(process_tree(pid))


def inspect_log(outcome: Outcome, lines: list[bytes]) -> None:
    """Note the longest line and the errors of a log."""
    outcome.longest_line = max(map(len, lines), default=0)
    outcome.errors = [line[:300].decode(errors="replace") for line in lines if any(error in line for error in _ERRORS)]


def settled(server: ApiextServer, before: float, allowed: float = MAX_REMAINING_MIB) -> float:
    """Wait until at most `allowed` MiB remain above `before`, but at most 1.5 minutes; return the remaining MiB."""
    with suppress(AssertionError):
        until(lambda: not server.process.running or memory(server.pid) - before < allowed, patience=_SETTLED_WITHIN)
    return memory(server.pid) - before
