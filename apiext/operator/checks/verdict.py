"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """State of a check; the values are part of the doctor's JSON report."""

    OK = "ok"
    BROKEN = "broken"
    UNKNOWN = "untold"
    """Not checkable from here; a later check decides."""
    SKIPPED = "unseen"
    """Not run, because an earlier check failed."""


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """The result of a check, with the remedy if it failed."""

    state: CheckState
    what: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A check's name and verdict."""

    check: str
    verdict: CheckVerdict

    @property
    def broken(self) -> bool:
        """Whether the check failed."""
        return self.verdict.state is CheckState.BROKEN

    def __str__(self) -> str:
        remedy = f"; {self.verdict.remedy}" if self.verdict.remedy else ""
        return f"{self.check}: {self.verdict.what}{remedy}"


def ok(what: str) -> CheckVerdict:
    """Return the verdict of a passed check."""
    return CheckVerdict(CheckState.OK, what)


def broken(what: str, remedy: str) -> CheckVerdict:
    """Return the verdict of a failed check."""
    return CheckVerdict(CheckState.BROKEN, what, remedy)


def unknown(what: str) -> CheckVerdict:
    """Return the verdict of a check that cannot run from here."""
    return CheckVerdict(CheckState.UNKNOWN, what)
