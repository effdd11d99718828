"""The functions of a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

Step = Callable[[Any], bool]
"""Changes an object in place. Returns whether the opposite step surely gives an equal object again."""


class Reversible(NamedTuple):
    """A rule in both directions."""

    forth: Step
    """From the spoke to the hub."""
    back: Step

    def reversed(self) -> Reversible:
        """Return the operation with its directions exchanged."""
        return Reversible(self.back, self.forth)


class _Missing:
    """The type of MISSING."""

    __slots__ = ()


MISSING: Final[Any] = _Missing()
"""In place of the value of an absent field."""
EXACT: Final = True
INEXACT: Final = False
