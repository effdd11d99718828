"""Runs `apiext` on an event loop that reports each long turn, with its slowest callbacks and samples of its stack.

`python -m hack.lib.loop_profile REPORT serve ...` appends one JSON line to the file REPORT for each such turn. Turns are measured in
processor time of the loop's thread, so that other load of the machine does not matter. The loop is asyncio's own, since uvloop
does not show its turns.
"""

import asyncio
import json
import sys
import threading
import time
from asyncio import events
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvloop

_LIMIT: Final = 0.005
"""Seconds of processor time above which a turn is reported."""
_SAMPLE_SECONDS: Final = 0.002
_DEPTH: Final = 12
_SLOWEST: Final = 3


class ProfiledLoop(asyncio.SelectorEventLoop):
    """Calls `report` after each turn that took longer than `limit` seconds of processor time of this thread."""

    def __init__(self, report: Callable[[dict[str, Any]], None], limit: float = _LIMIT) -> None:
        super().__init__()
        self._report = report
        self._limit = limit
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._thread = threading.get_ident()
        self._turn_began = 0.0
        self._stacks: Counter[str] = Counter()
        self._callbacks: list[tuple[float, str]] = []
        threading.Thread(target=self._sample, daemon=True).start()

    def _run_once(self) -> None:
        """Run one turn of the loop: overrides the method of asyncio.BaseEventLoop."""
        self._callbacks.clear()
        self._stacks.clear()
        self._turn_began = time.thread_time()
        super()._run_once()  # type: ignore[misc]
        seconds = time.thread_time() - self._turn_began
        self._turn_began = 0.0
        if seconds > self._limit:
            slowest = sorted(self._callbacks, reverse=True)[:_SLOWEST]
            self._report(
                {
                    "ms": round(seconds * 1000, 1),
                    "callbacks": len(self._callbacks),
                    "slowest": [[round(taken * 1000, 1), name] for taken, name in slowest],
                    "stacks": self._stacks.most_common(_SLOWEST),
                }
            )

    def took(self, seconds: float, callback: str) -> None:
        """Record the duration of one callback of this turn."""
        self._callbacks.append((seconds, callback))

    def _sample(self) -> None:
        while not self.is_closed():
            time.sleep(_SAMPLE_SECONDS)
            began = self._turn_began
            if began and time.clock_gettime(self._clock) - began > self._limit / 2:
                frame = sys._current_frames().get(self._thread)  # noqa: SLF001 -- documented for debugging tools
                self._stacks[_stack(frame)] += 1


def _stack(frame: FrameType | None) -> str:
    lines: list[str] = []
    while frame is not None and len(lines) < _DEPTH:
        lines.append(f"{Path(frame.f_code.co_filename).stem}:{frame.f_code.co_name}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(lines)


def _measured(run: Callable[[events.Handle], None]) -> Callable[[events.Handle], None]:
    """Return Handle._run with the time of the callback recorded by a profiled loop."""

    def _run(self: events.Handle) -> None:
        loop, before = self._loop, time.thread_time()  # type: ignore[attr-defined]
        run(self)
        if isinstance(loop, ProfiledLoop):
            loop.took(time.thread_time() - before, _name(getattr(self, "_callback", None)))

    return _run


def _name(callback: object) -> str:
    """Return the name of the function or coroutine of a callback, without `repr`, which could change its object."""
    owner = getattr(callback, "__self__", None)
    function = owner.get_coro() if isinstance(owner, asyncio.Task) else callback
    return str(getattr(function, "__qualname__", type(function).__name__))


def _main() -> None:
    report = Path(sys.argv.pop(1))

    def write(turn: dict[str, Any]) -> None:
        with report.open("a") as file:
            file.write(json.dumps(turn) + "\n")

    def run(main: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=lambda: ProfiledLoop(write)) as runner:
            runner.run(main)

    patch, run_handle = setattr, vars(events.Handle)["_run"]
    patch(events.Handle, "_run", _measured(run_handle))
    patch(uvloop, "run", run)
    from apiext.cli.main import main

    main()


if __name__ == "__main__":
    _main()
