"""Work of heavy requests, away from the event loop, so that nobody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

is_heavy: ContextVar[bool] = ContextVar("is_heavy", default=False)
"""Whether the request that is being worked on may take so much work that others would wait for it; set anew by each that writes."""


async def run(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Do a part of the work, in a thread if the request is heavy."""
    return await asyncio.to_thread(work, *args, **kwargs) if is_heavy.get() else work(*args, **kwargs)
