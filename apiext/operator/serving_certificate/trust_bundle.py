"""Whom to believe while one authority follows another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OVERLAP: Final = 3600.0
"""Seconds for which an authority is believed that is not published any more: servers may still show what it has issued."""


class Trust:
    """The authorities that are published, and those that were."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}

    def bundle(self, published: Sequence[str]) -> str:
        """All that are believed: those published now, in their order, then the others. Where none is published, those before stay."""
        now = self._clock()
        if published:
            before = {pem: seen for pem, seen in self._seen.items() if now - seen < OVERLAP and pem not in published}
            self._seen = dict.fromkeys(published, now) | before
        return "".join(self._seen)
