"""A plan as a JSON document. `plan.schema.json` describes it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.comparison.change import Change
    from apiext.tools.judgement.outcome import ObjectsReport
    from apiext.tools.plan.plan import DefinitionPlan, PlanStep, ReleasePlan, VersionRole, VersionsReport, VersionState, WayBack

API_VERSION: Final = "lab.apiext.dev/v1alpha1"
"""A member may be added without a new version; none is removed or changed."""
KIND: Final = "Plan"


def document_of(plan: ReleasePlan) -> Object:
    """Return a plan as a JSON document."""
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
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
    return {
        "name": plan.name,
        "state": plan.state,
        "verdict": plan.verdict,
        "breaks": list(plan.breaks),
        "cautions": list(plan.cautions),
        "refusals": list(plan.refusals),
        "changes": list(map(_change, plan.changes)),
        "objects": _objects(plan.objects),
        "versions": _versions(plan.versions) if plan.versions is not None else None,
        "steps": list(map(_step, plan.steps)),
        "rollback": _way_back(plan.way_back) if plan.way_back is not None else None,
    }


def _change(change: Change) -> Object:
    return {
        "rule": change.rule,
        "version": change.version,
        "path": change.path,
        "message": change.message,
        "hurts": change.hurts,
        "grade": change.grade,
        "reason": change.reason or None,
    }


def _objects(report: ObjectsReport | None) -> Object | None:
    if report is None:
        return None
    findings = [
        {
            "kind": finding.kind,
            "version": finding.version,
            "path": finding.path,
            "message": finding.message,
            "count": finding.count,
            "already": finding.already,
            "examples": list(finding.examples),
        }
        for finding in report.findings
    ]
    return {
        "total": report.total,
        "unchanged": report.unchanged,
        "unreadable": report.unreadable,
        "invalid": report.invalid,
        "tolerated": report.tolerated,
        "stuck": report.stuck,
        "costShare": report.cost_share,
        "costObject": report.cost_object or None,
        "findings": findings,
        "notJudged": [{"what": part.what, "reason": part.reason} for part in report.not_judged],
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
        "items": list(map(_version, report.rows)),
    }


def _version(row: VersionState) -> Object:
    return {
        "name": row.name,
        "before": _role(row.before),
        "after": _role(row.after),
        "objects": row.objects,
        "listed": row.is_listed,
        "droppable": row.droppable,
    }


def _role(role: VersionRole | None) -> Object | None:
    return {"served": role.served, "storage": role.storage, "deprecated": role.deprecated} if role is not None else None


def _step(step: PlanStep) -> Object:
    return {
        "kind": step.kind,
        "need": step.need,
        "title": step.title,
        "reason": step.reason,
        "commands": list(step.commands),
        "check": step.check or None,
        "checkText": step.check_text,
        "storedVersions": list(step.stored_versions),
        "manifest": step.manifest,
    }


def _way_back(way: WayBack) -> dict[str, Any]:
    return {
        "verdict": way.verdict,
        "breaks": list(way.breaks),
        "loses": list(way.loses),
        "cautions": list(way.cautions),
        "steps": list(map(_step, way.steps)),
        "objects": _objects(way.objects),
    }
