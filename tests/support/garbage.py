"""What code leaves to the garbage collector, which rarely runs over old objects."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def collected(*kinds: type) -> Iterator[list[Any]]:
    """Fill a list, at the end of the block, with the objects of these kinds that the block left in reference cycles."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    found: list[Any] = []
    try:
        yield found
        gc.collect()
        found += [repr(item)[:200] for item in gc.garbage if isinstance(item, kinds)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        if was_enabled:
            gc.enable()
