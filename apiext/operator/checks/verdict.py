"""What was found at a hop."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How a hop is."""

    OK = "ok"
    BROKEN = "broken"
    UNTOLD = "untold"
    """It cannot be told from here; a later hop will tell."""
    UNSEEN = "unseen"
    """It was not looked at, because an earlier one is broken."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a hop is, what was seen there, and where it is broken what to do."""

    state: State
    what: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict on a hop of that name."""

    hop: str
    verdict: Verdict

    @property
    def broken(self) -> bool:
        """Whether this is where the way ends."""
        return self.verdict.state is State.BROKEN

    def __str__(self) -> str:
        remedy = f"; {self.verdict.remedy}" if self.verdict.remedy else ""
        return f"{self.hop}: {self.verdict.what}{remedy}"


def ok(what: str) -> Verdict:
    """The hop can be taken."""
    return Verdict(State.OK, what)


def broken(what: str, remedy: str) -> Verdict:
    """The way ends here."""
    return Verdict(State.BROKEN, what, remedy)


def untold(what: str) -> Verdict:
    """Nothing can be said of it from here."""
    return Verdict(State.UNTOLD, what)
