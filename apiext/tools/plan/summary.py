"""Short sentences about a plan, for all forms of output."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from apiext.resources.comparison.change import Grade
from apiext.tools.plan.plan import Need, Safety, State
from apiext.tools.reports.texts import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.tools.judgement.outcome import ObjectsReport
    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan, VersionsReport, WayBack

VERDICTS: Final = {
    Safety.SAFE: "safe",
    Safety.STEPS: "safe in this order",
    Safety.BREAKING: "breaking",
}
_ROLLBACKS: Final = {
    Safety.SAFE: "possible: apply the old definition again",
    Safety.STEPS: "possible in this order",
    Safety.BREAKING: "not possible without harm",
}


def headline(plan: ReleasePlan) -> str:
    """Return what was planned, and with which objects."""
    parts = [f"{plan.new} replaces {plan.old}"]
    if plan.objects:
        parts.append(f"objects of {plan.objects}")
    if plan.stored and plan.stored != plan.objects:
        parts.append(f"stored bytes of {plan.stored}")
    return ", ".join(parts)


def changes_line(plan: DefinitionPlan) -> str:
    """Return the numbers of changes by grade."""
    grades = Counter(change.grade for change in plan.changes)
    counts = [counted(grades[grade], str(grade)) for grade in (Grade.ERROR, Grade.WARNING, Grade.NOTE) if grades[grade]]
    return ", ".join([*counts, *([f"{grades[Grade.IGNORE]} ignored"] if grades[Grade.IGNORE] else [])]) or "none"


def objects_line(report: ObjectsReport) -> str:
    """Return the numbers of judged objects."""
    parts = [f"{counted(report.total, 'object')}, {report.unchanged} unchanged"]
    parts += [f"{number} {what}" for number, what in _numbers(report) if number]
    if report.cost_object:
        parts.append(f"rules use up to {100 * report.cost_share:.2g} % of their cost budget ({report.cost_object})")
    return ", ".join(parts)


def _numbers(report: ObjectsReport) -> list[tuple[int, str]]:
    return [
        (report.only_new, "of the new release only"),
        (report.unreadable, "unreadable"),
        (report.invalid, "invalid"),
        (report.tolerated, "of them still updatable (ratcheting)"),
        (report.stuck, "stuck"),
    ]


def versions_line(report: VersionsReport) -> str:
    """Return what is stored in which version, and what storedVersions will say."""
    known = [f"{row.objects} in {row.name}" for row in report.rows if row.objects]
    listed = [", ".join(report.stored_before), ", ".join(report.stored_after), ", ".join(report.stored_finally)]
    shown = [text for place, text in enumerate(listed) if text and (place == 0 or text != listed[place - 1])]
    stored = f"storedVersions {' -> '.join(shown)}"
    return f"{', '.join(known)}; {stored}" if known else stored


def rollback_line(way: WayBack) -> str:
    """Return the verdict on the rollback."""
    lost = f"; {counted(len(way.loses), 'change')} of later writes would be lost or refused" if way.loses else ""
    return _ROLLBACKS[way.verdict] + lost


def shown_first(plan: ReleasePlan) -> list[DefinitionPlan]:
    """Return the definitions that change, the worst verdict first."""
    order = list(Safety)
    return sorted(
        (one for one in plan.definitions if one.state is not State.UNCHANGED), key=lambda one: (-order.index(one.verdict), one.name)
    )


def unchanged_line(plan: ReleasePlan) -> str:
    """Return the number of definitions that do not change, "" if all change."""
    number = sum(one.state is State.UNCHANGED for one in plan.definitions)
    return f"{counted(number, 'definition')} unchanged" if number else ""


def step_title(number: int, step: PlanStep) -> str:
    """Return the title of a step with its number, and whether it may be left out."""
    mark = "" if step.need is Need.REQUIRED else f" ({step.need})"
    return f"{number}. {step.title}{mark}"


def is_plain(steps: Sequence[PlanStep]) -> bool:
    """Report whether the steps are only the new definition itself."""
    return len(steps) < 2
