"""The offset of a restored store's revisions (decision: revisions never go back).

A client may have seen any revision that the lost store reached after the backup, and those of earlier restorations of the same backup.
The offset is therefore at least the time in microseconds since 1970: no store writes that often, so each restoration begins above all
revisions that clients have seen. All of them are still integers that every JSON parser reads exactly, until the year 2255.
"""

from __future__ import annotations

from typing import Final

from apiext.storage.backend import BackendError

_MARGIN: Final = 10**12
"""Distance from the highest revision known, for a clock that is wrong: thirty years of a thousand writes a second."""
_MAX: Final = 2**53 - 10**13
"""The highest offset. Revisions above it stay exact in JSON for ten trillion writes."""


def next_offset(highest: int, now: float) -> int:
    """Return the offset above the highest known revision, at a time in seconds since 1970.

    Raises:
        BackendError: there is none that is exact in JSON.
    """
    offset = max(int(now * 1_000_000), highest + _MARGIN)
    if offset > _MAX:
        raise BackendError(f"the store's revisions cannot grow above {highest}: JSON parsers would round them")
    return offset
