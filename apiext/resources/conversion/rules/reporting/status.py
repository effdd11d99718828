"""The content of the status of a Conversion object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.meta.objectmeta.conditions import with_condition
from apiext.resources.conversion.rules.model import VALID
from apiext.resources.conversion.rules_in_use import IN_USE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.check.report import CheckReport, RuleFinding

_MAX_LISTED: Final = 256
_MAX_MESSAGE: Final = 4096
_SHOWN: Final = 3
_CONTINUES: Final = "They are invalid since a change of the CRD or of the server, and go on as far as they can be compiled."


@dataclass(frozen=True, slots=True)
class RulesUsage:
    """Whether a server converts objects by the rules."""

    is_used: bool
    reason: str
    """One word, as conditions have it."""
    message: str
    continues: bool = False
    """Whether the rules convert in spite of the problems that the check finds, because they did before."""


def conversion_status(conversion: Object, report: CheckReport | None, usage: RulesUsage) -> Object:
    """Return the status of a Conversion object; the same one if nothing has changed.

    `report` is that of the check; None if the CRD does not exist. A condition keeps its time while its status is the same.
    """
    old: Object = conversion.get("status") or {}
    generation = conversion["metadata"].get("generation") or 0
    conditions = old.get("conditions") or []
    for kind, (status, reason, message) in ((VALID, _valid(conversion, report)), (IN_USE, _in_use(report, usage))):
        condition = {"type": kind, "status": status, "reason": reason, "message": _short(message), "observedGeneration": generation}
        conditions = with_condition(conditions, condition)
    found = {
        "observedGeneration": generation,
        "conditions": conditions,
        "problems": _listed(report.problems) if report else [],
        "warnings": _listed(report.warnings) if report else [],
        "losses": _losses(report) if report else [],
    }
    return {name: value for name, value in found.items() if value != []}


def _valid(conversion: Object, report: CheckReport | None) -> tuple[str, str, str]:
    if report is None:
        return "Unknown", "DefinitionNotFound", f"There is no CustomResourceDefinition {conversion['metadata']['name']}."
    if report.is_valid:
        return "True", "Checked", "The rules fit the schemas of all versions."
    shown = "; ".join(str(each) for each in report.problems[:_SHOWN])
    more = len(report.problems) - _SHOWN
    return "False", "InvalidRules", f"{shown}; and {more} more" if more > 0 else shown


def _in_use(report: CheckReport | None, usage: RulesUsage) -> tuple[str, str, str]:
    if report is None:
        return "False", "DefinitionNotFound", "There are no objects to convert."
    if not report.is_valid and not usage.continues:
        return "False", "InvalidRules", "Objects in other versions than the requested one cannot be read until the rules are valid."
    message = usage.message if report.is_valid else f"{usage.message} {_CONTINUES}"
    return "True" if usage.is_used else "False", usage.reason, message


def _listed(findings: Iterable[RuleFinding]) -> list[Object]:
    return [{"path": each.path, "message": _short(each.message)} for each in findings][:_MAX_LISTED]


def _losses(report: CheckReport) -> list[Object]:
    return [{"version": each.version, "path": each.path, "reason": _short(each.reason)} for each in report.losses][:_MAX_LISTED]


def _short(text: str) -> str:
    return text if len(text) <= _MAX_MESSAGE else f"{text[: _MAX_MESSAGE - 3]}..."
