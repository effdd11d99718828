"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckState(StrEnum):
    """State of a check; the values are part of the doctor's JSON report."""

    OK = "ok"
    BROKEN = "broken"
    UNKNOWN = "untold"
    """It cannot be checked from here; a later check tells."""
    SKIPPED = "unseen"
    """It was not run, because an earlier check failed."""


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """What a check found, and the remedy if it failed."""

    state: CheckState
    what: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict of the check of that name."""

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
    """Return the verdict of a check that cannot be made from here."""
    return CheckVerdict(CheckState.UNKNOWN, what)
