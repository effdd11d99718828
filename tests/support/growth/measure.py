"""Measures growth: the processor time of a function for inputs of size n, 2n and 4n."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

MAX_RATIO: Final = 10.0
"""Accepted ratio of the times for 4n and n: 4 for linear time, about 4.6 for sorting, 16 for quadratic time.

Large inputs do not fit into the processor's caches: on a busy machine this doubles the time.
"""
_ENOUGH: Final = 0.003
"""Least seconds of the measurement for size n, if MAX_SIZE permits. Less would drown in noise and constant parts."""
_MAX_SIZE: Final = 1 << 16
"""Greatest n."""
_RUNS: Final = 2
_ATTEMPTS: Final = 8


@dataclass(frozen=True, slots=True)
class Case:
    """A function, and a maker of hostile inputs for it.

    `run` must not cache its result by the input, and must not be a coroutine. It gets a new input each time and may change it. A
    function that refuses large inputs passes.
    """

    name: str
    make: Callable[[int], Any]
    """Returns an input of n elements or characters."""
    run: Callable[[Any], object]
    start: int = 64
    """First n to try: small for possibly exponential time, large if only a limit makes the time linear."""


def ratio(case: Case) -> float:
    """Return the ratio of the times for 4n and n, or twice that for 2n and n if that is too large already.

    Each time is the least of several. A ratio that is too large is measured again, at last with other sizes: other processes disturb, and
    at some sizes the memory that a process already has makes the larger input much slower.
    """
    with _no_collection():
        size = case.start
        best = _time(case, size)
        while best < _ENOUGH and size < _MAX_SIZE:
            size *= 2
            best = _time(case, size)
        found = float("inf")
        for other in (size, size * 5 // 4, size * 3 // 2):
            found = min(found, _growth(case, other))
            if found <= MAX_RATIO:
                break
        return found


def _growth(case: Case, size: int) -> float:
    # Double the size first: a function of exponential time then fails soon.
    doubled = 2 * _least(case, size, 2, MAX_RATIO / 2)
    return doubled if doubled > MAX_RATIO else _least(case, size, 4, MAX_RATIO)


def _least(case: Case, size: int, factor: int, accepted: float) -> float:
    base = grown = float("inf")
    for _ in range(_ATTEMPTS):
        for _ in range(_RUNS):
            base = min(base, _time(case, size))
            grown = min(grown, _time(case, factor * size))
        if grown <= max(accepted * base, _ENOUGH):
            break
    return grown / max(base, _ENOUGH / accepted)


def _time(case: Case, size: int) -> float:
    given = case.make(size)
    start = time.thread_time()
    case.run(given)
    return time.thread_time() - start


@contextmanager
def _no_collection() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
