"""How long a request has waited for the store. Only requests that are audited have this."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final


class StoreTimes:
    """The seconds of one request by their use. Defaults are attributes of the class: most requests keep them."""

    reads = 0.0
    """Waiting for single objects, and for revisions, also where several requests share the question."""
    writes = 0.0
    decoding = 0.0
    """Making the items of lists that the backend has answered."""


STORE_TIMES: Final[ContextVar[StoreTimes | None]] = ContextVar("store_times", default=None)
"""The times of the request that the current task handles."""


@contextmanager
def timed_read() -> Generator[None]:
    """Count the block as a read of the current request."""
    times, begin = STORE_TIMES.get(), time.perf_counter()
    try:
        yield
    finally:
        if times is not None:
            times.reads += time.perf_counter() - begin


@contextmanager
def untimed() -> Generator[None]:
    """Count no call of the block for the current request."""
    token = STORE_TIMES.set(None)
    try:
        yield
    finally:
        STORE_TIMES.reset(token)
