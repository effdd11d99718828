"""Memory, file descriptors and tasks of a server over a long run, compared with those after five minutes."""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from hack.lib.pausable import Pausable
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.soak.access import Access
from hack.lib.soak.attack import BROKEN
from hack.lib.soak.observation import memory

_INTERVAL: Final = 10.0
"""Seconds between two samples."""
_FIRST: Final = 300.0
"""Seconds of a process until the samples to compare with; they last a minute, as the last ones."""
_SPAN: Final = 60.0
_GROWTH: Final = 1.1
_TOLERATED: Final = 40
"""Further descriptors or tasks that are no leak: connections of clients come and go with the faults."""


@dataclass(frozen=True)
class Sample:
    """What a process holds at a time of the monotonic clock."""

    time: float
    pid: int
    mib: float
    descriptors: int
    tasks: int


class Leaks(Pausable):
    """Takes samples of a server in a thread."""

    def __init__(self, server: ApiextServer, access: Access) -> None:
        super().__init__()
        self._server = server
        self._access = access
        self.samples: list[Sample] = []

    def _run(self) -> None:
        while not self._ended.wait(_INTERVAL):
            try:
                self.samples.append(self._sample())
            except BROKEN:
                continue  # it is killed or paused

    def _sample(self) -> Sample:
        pid = self._server.pid
        text = self._access.metrics(_INTERVAL)
        tasks = re.search(rb"^apiext_event_loop_tasks (\S+)", text, re.MULTILINE)
        descriptors = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        return Sample(time.monotonic(), pid, memory(pid), descriptors, int(float(tasks[1])) if tasks else 0)


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
    texts = [f"{name} {one:,.0f} to {other:,.0f}" for name, one, other in zip(("MiB", "descriptors", "tasks"), before, after, strict=True)]
    line = f"from minute five to the end: {', '.join(texts)}; MiB by minutes: {_course(own, begun)}"
    limits = (before[0] * _GROWTH, before[1] * _GROWTH + _TOLERATED, before[2] * _GROWTH + _TOLERATED)
    return line, [f"a leak: {text}" for text, value, limit in zip(texts, after, limits, strict=True) if value > limit]


def _course(samples: list[Sample], begun: float) -> str:
    """Return the first memory figure in each span of five minutes."""
    figures: dict[int, float] = {}
    for one in samples:
        figures.setdefault(int((one.time - begun) // _FIRST), one.mib)
    return " ".join(f"{mib:.0f}" for mib in figures.values())


def _mean(samples: list[Sample]) -> tuple[float, float, float]:
    return fmean(one.mib for one in samples), fmean(one.descriptors for one in samples), fmean(one.tasks for one in samples)
