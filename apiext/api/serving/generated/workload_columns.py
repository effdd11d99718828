"""Table columns of workloads (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.responsewriters.human_duration import age, human_duration
from apiext.api.endpoints.responsewriters.table import NAME, Column
from apiext.api.serving.builtin.printing import AGE, text
from apiext.api.serving.generated.cells import (
    containers,
    field,
    find,
    labels_text,
    length,
    number,
    pod_template_columns,
    ratio,
    shortened,
)
from apiext.base.meta import time
from apiext.resources.registry.generated.scale import selector_text

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_TEMPLATE: Final = "spec.template"
_JOB_STATES: Final = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)
"""Conditions with the state that they mean, the first true one counts; "" stands for the deletion."""

DEPLOYMENTS: Final = (
    NAME,
    text("Ready", "How many of the wanted pods are ready.", ratio("status.readyReplicas", "spec.replicas")),
    text("Up-to-date", "How many pods have the current template.", lambda obj, _now: find(obj, "status.updatedReplicas") or 0),
    text("Available", "How many pods are available.", lambda obj, _now: find(obj, "status.availableReplicas") or 0),
    AGE,
    *containers(_TEMPLATE),
    text("Selector", "Labels of the selected pods.", lambda obj, _now: selector_text(find(obj, "spec.selector")), priority=1),
)
STATEFUL_SETS: Final = (
    NAME,
    text("Ready", "How many of the wanted pods are ready.", ratio("status.readyReplicas", "spec.replicas")),
    AGE,
    *containers(_TEMPLATE),
)
_REPLICAS: Final = (
    NAME,
    number("Desired", "spec.replicas", "How many pods are wanted."),
    number("Current", "status.replicas", "How many pods there are."),
    number("Ready", "status.readyReplicas", "How many pods are ready."),
    AGE,
)
REPLICA_SETS: Final = (*_REPLICAS, *pod_template_columns(_TEMPLATE))
REPLICATION_CONTROLLERS: Final = (
    *_REPLICAS,
    *containers(_TEMPLATE),
    text("Selector", "Labels of the selected pods.", lambda obj, _now: labels_text(find(obj, "spec.selector")), priority=1),
)
DAEMON_SETS: Final = (
    NAME,
    number("Desired", "status.desiredNumberScheduled", "How many nodes shall run the pod."),
    number("Current", "status.currentNumberScheduled", "How many of these nodes run the pod."),
    number("Ready", "status.numberReady", "How many of these pods are ready."),
    number("Up-to-date", "status.updatedNumberScheduled", "How many of these pods have the current template."),
    number("Available", "status.numberAvailable", "How many of these pods are available."),
    text("Node Selector", "Labels of the selected nodes.", lambda obj, _now: labels_text(find(obj, f"{_TEMPLATE}.spec.nodeSelector"))),
    AGE,
    *pod_template_columns(_TEMPLATE),
)


# --- jobs -----------------------------------------------------------------------------------------------------------


def _job_state(job: Object, _now: datetime) -> str:
    true = {each["type"] for each in find(job, "status.conditions") or () if each.get("status") == "True"}
    true |= {""} if "deletionTimestamp" in job["metadata"] else set()
    return next((state for condition, state in _JOB_STATES if condition in true), "Running")


def _completions(job: Object, _now: datetime) -> str:
    done, wanted, parallel = find(job, "status.succeeded") or 0, find(job, "spec.completions"), find(job, "spec.parallelism") or 0
    if wanted is not None:
        return f"{done}/{wanted}"
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _duration(job: Object, now: datetime) -> str:
    begin, end = find(job, "status.startTime"), find(job, "status.completionTime")
    if begin is None:
        return ""
    return human_duration(((time.parse(end) if end else now) - time.parse(begin)).total_seconds())


def _last_schedule(job: Object, now: datetime) -> str:
    moment = find(job, "status.lastScheduleTime")
    return age(moment, now) if moment else "<none>"


def _suspended(job: Object, _now: datetime) -> str:
    suspend = find(job, "spec.suspend")
    return "<unset>" if suspend is None else str(suspend)


JOBS: Final = (
    NAME,
    text("Status", "The state of the job.", _job_state),
    text("Completions", "How many of the wanted pods have succeeded.", _completions),
    text("Duration", "The time that the job took, or has taken.", _duration),
    AGE,
    *pod_template_columns(_TEMPLATE),
)
CRON_JOBS: Final = (
    NAME,
    field("Schedule", "spec.schedule", "When jobs start, in the format of cron."),
    field("Timezone", "spec.timeZone", "The time zone of the schedule.", missing="<none>"),
    Column("Suspend", "boolean", description="Whether no jobs start.", cell=_suspended),
    length("Active", "status.active", "How many jobs run."),
    text("Last Schedule", "The time since the last job started.", _last_schedule),
    AGE,
    *pod_template_columns("spec.jobTemplate.spec.template", "spec.jobTemplate.spec.selector"),
)


# --- others ---------------------------------------------------------------------------------------------------------


def _metric(spec: Object, status: Object) -> str:
    kind = spec.get("type", "")
    member = kind[:1].lower() + kind[1:]
    source, found = spec.get(member), status.get(member) or {}
    if source is None:
        return "<unknown type>"
    prefix = f"{source['name']}: " if kind in {"Resource", "ContainerResource"} else ""
    target, current = source.get("target") or {}, found.get("current") or {}
    if "averageValue" in target:
        suffix = " (avg)" if kind in {"External", "Object"} else ""
        return f"{prefix}{current.get('averageValue', '<unknown>')}/{target['averageValue']}{suffix}"
    if prefix:
        return f"{prefix}{_percent(current, '<unknown>')}/{_percent(target, '<auto>')}"
    return f"{current.get('value', '<unknown>')}/{target.get('value', '0')}"


def _percent(of: Object, missing: str) -> str:
    return f"{of['averageUtilization']}%" if "averageUtilization" in of else missing


def _metrics(autoscaler: Object, _now: datetime) -> str:
    specs, statuses = find(autoscaler, "spec.metrics") or (), find(autoscaler, "status.currentMetrics") or ()
    shown = [_metric(spec, statuses[index] if index < len(statuses) else {}) for index, spec in enumerate(specs)]
    return shortened(shown, most=2, separator=", ") or "<none>"


def _target(autoscaler: Object, _now: datetime) -> str:
    target = find(autoscaler, "spec.scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def _as_text(path: str, missing: str) -> Any:
    def cell(obj: Object, _now: datetime) -> str:
        found = find(obj, path)
        return missing if found is None else str(found)

    return cell


def _controller(revision: Object, _now: datetime) -> str:
    owner = next((each for each in revision["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    if owner is None:
        return "<none>"
    group = owner["apiVersion"].rpartition("/")[0]
    kind = owner["kind"].lower()
    return f"{kind}.{group}/{owner['name']}" if group else f"{kind}/{owner['name']}"


HORIZONTAL_POD_AUTOSCALERS: Final = (
    NAME,
    text("Reference", "The scaled object.", _target),
    text("Targets", "The current and wanted metrics.", _metrics),
    text("MinPods", "The smallest number of pods.", _as_text("spec.minReplicas", "<unset>")),
    text("MaxPods", "The largest number of pods.", lambda obj, _now: find(obj, "spec.maxReplicas") or 0),
    text("Replicas", "The number of pods.", lambda obj, _now: find(obj, "status.currentReplicas") or 0),
    AGE,
)
POD_DISRUPTION_BUDGETS: Final = (
    NAME,
    text("Min Available", "How many pods must stay available.", _as_text("spec.minAvailable", "N/A")),
    text("Max Unavailable", "How many pods may be unavailable.", _as_text("spec.maxUnavailable", "N/A")),
    number("Allowed Disruptions", "status.disruptionsAllowed", "How many pods may be evicted now."),
    AGE,
)
CONTROLLER_REVISIONS: Final = (
    NAME,
    text("Controller", "The owner of the revision.", _controller),
    text("Revision", "The number of the revision.", lambda obj, _now: obj.get("revision", 0)),
    AGE,
)
