"""Memory, file descriptors, tasks and child processes of a server over a long run, compared with those after five minutes.

The memory is that of the server's own process: worker processes come with heavy work, and end when they are idle.
"""

import re
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from hack.lib.pausable import Pausable
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.resources import process_tree, resident_mib
from hack.lib.soak.access import Access
from hack.lib.soak.attack import BROKEN

_INTERVAL: Final = 10.0
"""Seconds between two samples."""
_FIRST: Final = 300.0
"""Seconds of a process until the samples to compare with; they last a minute, as the last ones."""
_SPAN: Final = 60.0
_NAMES: Final = ("MiB", "descriptors", "tasks", "child processes")
_GROWTH: Final = 1.1
_TOLERATED: Final = 40
"""Further descriptors or tasks that are no leak: connections of clients come and go with the faults."""
_WORKERS: Final = 4
"""Further child processes that are no leak."""


@dataclass(frozen=True)
class Sample:
    """What a process holds at a time of the monotonic clock."""

    time: float
    pid: int
    mib: float
    descriptors: int
    tasks: int
    children: int = 0


class Leaks(Pausable):
    """Takes samples of a server in a thread."""

    def __init__(self, server: ApiextServer, access: Access) -> None:
        super().__init__()
        self._server = server
        self._access = access
        self.samples: list[Sample] = []

    def _run(self) -> None:
        while not self._ended.wait(_INTERVAL):
            self.take()

    def take(self) -> None:
        """Take a sample, unless the server is killed or paused."""
        with suppress(*BROKEN):
            self.samples.append(self._sample())

    def _sample(self) -> Sample:
        pid = self._server.pid
        text = self._access.metrics(_INTERVAL)
        tasks = re.search(rb"^apiext_event_loop_tasks (\S+)", text, re.MULTILINE)
        descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        children = len(process_tree(pid)) - 1
        return Sample(time.monotonic(), pid, resident_mib([pid]), descriptors, int(float(tasks[1])) if tasks else 0, children)


def judge(samples: list[Sample]) -> tuple[str, list[str]]:
    """Return a line about the last process of a server, and what is wrong with it.

    A process that did not live long enough is not judged, and the line says so.
    """
    if not samples:
        return "memory is not judged: there are no figures", ["the server showed no metrics"]
    own = [one for one in samples if one.pid == samples[-1].pid]
    begun = own[0].time
    first = [one for one in own if 0 <= one.time - begun - _FIRST <= _SPAN]
    last = [one for one in own if own[-1].time - one.time <= _SPAN]
    if not first or last[0].time <= first[-1].time:
        return "memory is not judged: the server did not run for seven minutes", []
    before, after = _mean(first), _mean(last)
    texts = [f"{name} {one:,.0f} to {other:,.0f}" for name, one, other in zip(_NAMES, before, after, strict=True)]
    line = f"from minute five to the end: {', '.join(texts)}; MiB by minutes: {_course(own, begun)}"
    limits = [one * _GROWTH + tolerated for one, tolerated in zip(before, (0, _TOLERATED, _TOLERATED, _WORKERS), strict=True)]
    return line, [f"a leak: {text}" for text, value, limit in zip(texts, after, limits, strict=True) if value > limit]


def _course(samples: list[Sample], begun: float) -> str:
    """Return the first memory figure in each span of five minutes."""
    figures: dict[int, float] = {}
    for one in samples:
        figures.setdefault(int((one.time - begun) // _FIRST), one.mib)
    return " ".join(f"{mib:.0f}" for mib in figures.values())


def _mean(samples: list[Sample]) -> list[float]:
    return [fmean(figures) for figures in zip(*((one.mib, one.descriptors, one.tasks, one.children) for one in samples), strict=True)]
