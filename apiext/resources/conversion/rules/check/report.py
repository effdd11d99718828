"""What the check of rules finds."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from apiext.base.meta.field import FieldError


class Severity(StrEnum):
    """What a finding means."""

    PROBLEM = "problem"
    """The rules cannot be used."""
    WARNING = "warning"
    """The rules can be used, and surprise in some objects."""


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One finding about a part of the rules."""

    path: str
    """The part of the Conversion object, such as spec.spokes[0].rules[3].move.to."""
    message: str
    severity: Severity = Severity.PROBLEM
    field: tuple[str, str] | None = None
    """The version and path of a field that may be missing or have a wrong value there; in a problem, of one that a default would give."""

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@dataclass(frozen=True, slots=True)
class DeclaredLoss:
    """A field that conversions remove for good, because a rule says so."""

    version: str
    """The version that has the field."""
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class CarriedField:
    """A field of one version that another one cannot hold. The annotation of the object carries it."""

    version: str
    """The version that has the field."""
    target: str
    """The version that cannot hold it."""
    path: str
    """The field, as it is called in the version that has it; where a rule moves it, as the rules call it there."""


@dataclass(slots=True)
class CheckReport:
    """All findings about the rules of one CRD."""

    findings: list[RuleFinding] = field(default_factory=list)
    losses: list[DeclaredLoss] = field(default_factory=list)
    carried: list[CarriedField] = field(default_factory=list)

    @property
    def problems(self) -> Sequence[RuleFinding]:
        """Return what makes the rules unusable."""
        return [each for each in self.findings if each.severity is Severity.PROBLEM]

    @property
    def warnings(self) -> Sequence[RuleFinding]:
        """Return what the author should know."""
        return [each for each in self.findings if each.severity is Severity.WARNING]

    @property
    def is_valid(self) -> bool:
        """Return whether the rules can be used."""
        return not self.problems

    def names(self, version: str, path: str) -> bool:
        """Return whether a finding is about a field of a version."""
        return any(each.field == (version, path) for each in self.findings)

    def problem(self, path: str, message: str, field: tuple[str, str] | None = None) -> None:
        """Add a problem. Of several about one part of a rule, the first stays: the others follow from it."""
        is_part = ".rules[" in path
        if not any(each.path == path and (is_part or each.message == message) for each in self.problems):
            self.findings.append(RuleFinding(path, message, field=field))

    def warn(self, path: str, message: str, field: tuple[str, str] | None = None) -> None:
        """Add a warning, once."""
        found = RuleFinding(path, message, Severity.WARNING, field)
        if found not in self.findings:
            self.findings.append(found)

    def extend(self, findings: Iterable[RuleFinding]) -> None:
        """Add findings."""
        for each in findings:
            if each.severity is Severity.PROBLEM:
                self.problem(each.path, each.message)
            else:
                self.warn(each.path, each.message, each.field)


def report_of(errors: Iterable[FieldError]) -> CheckReport:
    """Return the report about errors of a Conversion object by itself."""
    report = CheckReport()
    for each in errors:
        report.problem(each.field, each.body())
    return report
