"""Short sentences about a plan, for all forms of output."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from apiext.base.texts import counted
from apiext.resources.comparison.change import Grade
from apiext.tools.judgement.outcome import FindingKind
from apiext.tools.plan import verdict
from apiext.tools.plan.plan import Need, Safety, State
from apiext.tools.reports.texts import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.tools.judgement.outcome import ObjectsReport
    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan, VersionsReport, WayBack

VERDICTS: Final = {
    Safety.SAFE: "safe",
    Safety.STEPS: "safe in this order",
    Safety.BREAKING: "breaking",
}
_EFFECTS: Final = {
    FindingKind.UNREADABLE: "can no longer be read",
    FindingKind.UNCONVERTIBLE: "cannot be converted",
    FindingKind.PRUNED: "lose(s) {path}",
    FindingKind.LOST: "lose(s) {path} with the next write",
    FindingKind.CHANGED: "show(s) another {path}",
    FindingKind.ALTERED: "get(s) another {path} with the next write",
    FindingKind.RESURRECTED: "get(s) back a former {path}",
    FindingKind.STUCK: "can no longer be updated",
    FindingKind.STUCK_STATUS: "can no longer get a status",
    FindingKind.APPLIER: "can no longer be applied",
    FindingKind.MANAGER: "can no longer be applied",
    FindingKind.UNAPPLIED: "change(s) {path} with the next apply",
    FindingKind.UNKNOWN_VERSION: "can no longer be applied",
    FindingKind.CONFLICT: "conflict(s) with another manager at the next apply",
    FindingKind.INVALID: "become(s) invalid",
    FindingKind.TOLERATED: "become(s) invalid",
    FindingKind.DEFAULTED: "get(s) {path}",
    FindingKind.GAINED: "get(s) {path} with the next write",
}
"""What happens to an object of a finding, the worst first; "(s)" is for one object."""
_SHOWN: Final = 4
"""Effects that a sentence names."""
_EACH: Final = "\0"
"""The place of a definition's name in a shared step."""


def first_line(plan: ReleasePlan) -> str:
    """Return the verdict, the number of definitions that it is about, and what happens to how many objects."""
    total = len(plan.definitions)
    if plan.verdict is Safety.SAFE:
        number = sum(one.state is not State.UNCHANGED for one in plan.definitions)
        about = f"{_of(number, total)} {'changes' if number == 1 else 'change'}" if number else "nothing changes"
    else:
        about = _of(sum(one.verdict is plan.verdict for one in plan.definitions), total)
    judged = objects_sentence(plan.definitions)
    return f"{VERDICTS[plan.verdict].upper()}: {about}.{f' {judged}.' if judged else ''}"


def _of(number: int, total: int) -> str:
    return counted(total, "CRD") if number == total else f"{number} of {counted(total, 'CRD')}"


def objects_sentence(plans: Sequence[DefinitionPlan]) -> str:
    """Return what happens to how many objects of definitions; "" if none were judged."""
    reports = [one.objects for one in plans if one.objects is not None]
    if not reports:
        return ""
    total, unchanged = sum(report.total for report in reports), sum(report.unchanged for report in reports)
    if total == unchanged:
        return f"{counted(total, 'object')} as {'it is' if total == 1 else 'they are'}" if total else "no objects"
    effects: Counter[tuple[str, str]] = Counter()
    for plan in plans:
        effects.update(_effects(plan))
    order = [*_EFFECTS.values()]
    parts = [_effect(effects[found], found[0]) for found in sorted(effects, key=lambda found: order.index(found[1]))]
    more = [f"{len(parts) - _SHOWN} more findings below"] if len(parts) > _SHOWN + 1 else parts[_SHOWN:]
    parts = parts or [f"{total - unchanged} no worse than before"]
    as_they_are = [f"{unchanged} as {'it is' if unchanged == 1 else 'they are'}"] if unchanged else []
    return f"{counted(total, 'object')}: {', '.join([*as_they_are, *parts[:_SHOWN], *more])}"


def _effects(plan: DefinitionPlan) -> dict[tuple[str, str], int]:
    """Return the numbers of objects of a definition by what happens to them and the form of this text: harm, or the rest without any."""
    found: dict[tuple[str, str], int] = {}
    findings = [one for one in (plan.objects.findings if plan.objects is not None else ()) if verdict.is_new(one)]
    harms = verdict.HARMS - verdict.solved_findings(plan.steps)
    findings = [one for one in findings if one.kind in harms] or [one for one in findings if one.kind not in verdict.HARMS]
    seen: dict[str, FindingKind] = {}
    for finding in sorted(findings, key=lambda one: [*_EFFECTS].index(one.kind)):
        form = _EFFECTS[finding.kind]
        # one effect of each field, the worst
        if finding.path and "{path}" in form and seen.setdefault(finding.path, finding.kind) is not finding.kind:
            continue
        key = form.format(path=finding.path or "their content"), form
        found[key] = max(found.get(key, 0), finding.count - finding.already)
    return found


def _effect(number: int, effect: str) -> str:
    word, is_verb, rest = effect.partition("(s)")
    return f"{number} {word}{'s' if is_verb and number == 1 else ''}{rest}"


def headline(plan: ReleasePlan) -> str:
    """Return what was planned, and with which objects."""
    parts = [f"{plan.new} replaces {plan.old}"]
    if plan.objects:
        parts.append(f"objects of {plan.objects}")
    if plan.stored and plan.stored != plan.objects:
        parts.append(f"stored bytes of {plan.stored}")
    return ", ".join(parts)


def about_definition(plan: DefinitionPlan) -> str:
    """Return what there is to say about a definition in a line: verdict, changes, objects, rollback, and stored versions in brackets."""
    parts = [VERDICTS[plan.verdict]]
    if plan.changes:
        parts.append(changes_line(plan))
    if plan.objects is not None:
        parts.append(objects_sentence([plan]))
    if plan.way_back is not None:
        parts.append(rollback_line(plan.way_back))
    stored = f" [{versions_line(plan.versions)}]" if plan.versions is not None and len(plan.versions.rows) > 1 else ""
    return "; ".join(parts) + stored


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
    states = [", ".join(report.stored_before), ", ".join(report.stored_after), ", ".join(report.stored_finally)]
    shown = [text for place, text in enumerate(states) if text and (place == 0 or text != states[place - 1])]
    stored = f"storedVersions {' -> '.join(shown)}"
    return f"{', '.join(known)}; {stored}" if known else stored


def rollback_line(way: WayBack) -> str:
    """Return the verdict on the rollback."""
    how = {
        Safety.SAFE: "rollback possible",
        Safety.STEPS: f"rollback in {counted(len(way.steps), 'step')}",
        Safety.BREAKING: "no rollback without harm",
    }[way.verdict]
    return f"{how} (loses or refuses {counted(len(way.loses), 'kind')} of later writes)" if way.loses else how


def shown_first(plan: ReleasePlan) -> list[DefinitionPlan]:
    """Return the definitions that change, the worst verdict first, and of equal ones those first whose objects are harmed."""
    order = list(Safety)
    changed = (one for one in plan.definitions if one.state is not State.UNCHANGED)
    return sorted(changed, key=lambda one: (-order.index(one.verdict), not verdict.breaks_by_objects(one.objects), one.name))


def unchanged_line(plan: ReleasePlan) -> str:
    """Return the number of definitions that do not change, "" if all change."""
    number = sum(one.state is State.UNCHANGED for one in plan.definitions)
    return f"{counted(number, 'definition')} unchanged" if number else ""


def shared_steps(plans: Sequence[DefinitionPlan]) -> list[tuple[list[str], list[str]]]:
    """Return the lines of steps that are not plain, each list with the names of the definitions that share it, in the order of `plans`."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for plan in plans:
        if not is_plain(plan.steps):
            lines = tuple(step_line(number, step).replace(plan.name, _EACH) for number, step in enumerate(plan.steps, 1))
            shared.setdefault(lines, []).append(plan.name)
    return [(names, [line.replace(_EACH, "each" if len(names) > 1 else names[0]) for line in lines]) for lines, names in shared.items()]


def names_line(names: Sequence[str]) -> str:
    """Return names of definitions by group: "a, b and c of example.com"."""
    groups: dict[str, list[str]] = {}
    for name in names:
        plural, _, group = name.partition(".")
        groups.setdefault(group, []).append(plural)
    return listed([f"{listed(plurals)} of {group}" for group, plurals in groups.items()]) if len(names) > 1 else names[0]


def step_line(number: int, step: PlanStep) -> str:
    """Return the title of a step, and why it is taken."""
    return f"{step_title(number, step)}{f': {step.reason}' if step.reason else ''}"


def step_title(number: int, step: PlanStep) -> str:
    """Return the title of a step with its number, and whether it may be left out."""
    mark = "" if step.need is Need.REQUIRED else f" ({step.need})"
    return f"{number}. {step.title}{mark}"


def is_plain(steps: Sequence[PlanStep]) -> bool:
    """Report whether the steps are only the new definition itself."""
    return len(steps) < 2
