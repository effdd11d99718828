"""Which requests that run get the line of their arrival before they end."""

from typing import Final

_LINGERING: Final = 25_000_000
"""Nanoseconds for which an arrival is no line yet: most requests end sooner."""


def is_recent(moment: int, now: int) -> bool:
    """Return whether a request that arrived at a moment probably ends soon; both are in nanoseconds since 1970."""
    # a clock that was set back makes no moment recent
    return 0 <= now - moment < _LINGERING
