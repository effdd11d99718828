"""A plan as a JSON document. `plan.schema.json` describes it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec
from apiext.tools.plan import summary
from apiext.tools.reports.members import members_of, plain

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.judgement.outcome import ObjectsReport
    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan, VersionsReport, WayBack

API_VERSION: Final = "lab.apiext.dev/v1alpha1"
"""A member may be added without a new version; none is removed or changed."""
KIND: Final = "Plan"


def document_of(plan: ReleasePlan) -> Object:
    """Return a plan as a JSON document."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "summary": summary.first_line(plan),
        "verdict": plan.verdict,
        "rollbackVerdict": plan.rollback_verdict,
        "from": plan.old,
        "to": plan.new,
        "objects": plan.objects or None,
        "stored": plan.stored or None,
        "notes": list(plan.notes),
        "definitions": list(map(_definition, plan.definitions)),
    }


def schema() -> Object:
    """Return the JSON Schema of the document."""
    found: Object = json_codec.loads(files("apiext.tools.plan").joinpath("plan.schema.json").read_bytes())
    return found


def _definition(plan: DefinitionPlan) -> Object:
    return members_of(plan, without="changes objects versions steps way_back initial_state compared") | {
        "changes": [members_of(change) | {"reason": change.reason or None} for change in plan.changes],
        "objects": _objects(plan.objects),
        "versions": _versions(plan.versions) if plan.versions is not None else None,
        "steps": list(map(_step, plan.steps)),
        "rollback": _way_back(plan.way_back) if plan.way_back is not None else None,
    }


def _objects(report: ObjectsReport | None) -> Object | None:
    if report is None:
        return None
    return members_of(report, without="findings stored stored_is_exact not_judged") | {
        "costObject": report.cost_object or None,
        "findings": plain(report.findings),
        "notJudged": plain(report.not_judged),
    }


def _versions(report: VersionsReport) -> Object:
    return {
        "exact": report.is_exact,
        "evidence": report.evidence,
        "storedVersions": {
            "before": list(report.stored_before),
            "afterRelease": list(report.stored_after),
            "afterAllSteps": list(report.stored_finally),
        },
        "items": plain(report.rows),
    }


def _step(step: PlanStep) -> Object:
    return members_of(step, without="state resource api_version owner patch") | {"check": step.check or None, "manifest": step.written}


def _way_back(way: WayBack) -> Object:
    found = members_of(way, without="steps objects initial_state")
    return found | {"steps": list(map(_step, way.steps)), "objects": _objects(way.objects)}
