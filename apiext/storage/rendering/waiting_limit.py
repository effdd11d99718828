"""The limit of readers that wait for renderings which take long."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.errors import StatusError


@dataclass(frozen=True, slots=True)
class WaitingLimit:
    """How many readers of a version may wait while no batch of its objects ends."""

    seconds: float
    """Seconds without the end of a batch after which the limit holds."""
    readers: int
    refusal: Callable[[], StatusError]
    """Returns the error that further readers get."""
