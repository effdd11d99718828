"""Table columns of workloads and pods (kubernetes pkg/printers/internalversion/printers.go)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.responsewriters.human_duration import age, human_duration
from apiext.api.endpoints.responsewriters.table import NAME, Column
from apiext.api.serving.builtin.printing import (
    AGE,
    containers,
    field,
    find,
    labels_text,
    length,
    number,
    pod_template_columns,
    ratio,
    shortened,
    text,
)
from apiext.base.meta import time
from apiext.base.meta.objectmeta.label_selector import selector_text

if TYPE_CHECKING:
    from collections.abc import Iterator

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

_REPLICAS: Final = (
    NAME,
    number("Desired", "spec.replicas", "How many pods are wanted."),
    number("Current", "status.replicas", "How many pods there are."),
    number("Ready", "status.readyReplicas", "How many pods are ready."),
    AGE,
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


_NONE: Final = "<none>"
_FINISHED: Final = ("Succeeded", "Failed")


@dataclass(slots=True)
class _Restarts:
    """Restarts of containers, and the time of the last one."""

    count: int = 0
    last: str = ""

    def add(self, status: Object) -> None:
        self.count += status.get("restartCount", 0)
        self.last = max(self.last, find(status, "lastState.terminated.finishedAt") or "")


class _Summary:
    """The state of a pod in three cells."""

    def __init__(self, pod: Object) -> None:
        spec, status = pod["spec"], pod["status"]
        self._pod = pod
        self._sidecars = {each["name"] for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always"}
        self.total = len(spec.get("containers") or ()) + len(self._sidecars)
        self.ready = 0
        self.reason = status.get("reason") or status.get("phase", "")
        if any(each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated" for each in _conditions(pod)):
            self.reason = "SchedulingGated"
        self.restarts = _Restarts()
        sidecar_restarts = _Restarts()
        initializing = self._initialize(sidecar_restarts)
        if not initializing or _is_true(pod, "Initialized"):
            self.restarts = sidecar_restarts
            self._run()
        self._delete()

    def _initialize(self, sidecar_restarts: _Restarts) -> bool:
        """Go through the init containers, and report whether one of them is not done."""
        statuses = self._pod["status"].get("initContainerStatuses") or ()
        for index, status in enumerate(statuses):
            self.restarts.add(status)
            is_sidecar = status["name"] in self._sidecars
            if is_sidecar:
                sidecar_restarts.add(status)
            state = status.get("state") or {}
            terminated, waiting = state.get("terminated"), (state.get("waiting") or {}).get("reason")
            if terminated is not None and not terminated.get("exitCode"):
                continue
            if is_sidecar and status.get("started"):
                self.ready += bool(status.get("ready"))
                continue
            if terminated is not None:
                self.reason = f"Init:{_end(terminated)}"
            elif waiting and waiting != "PodInitializing":
                self.reason = f"Init:{waiting}"
            else:
                self.reason = f"Init:{index}/{len(self._pod['spec'].get('initContainers') or ())}"
            return True
        return False

    def _run(self) -> None:
        """Go through the containers, the last one first."""
        running, failure = False, ""
        for status in reversed(self._pod["status"].get("containerStatuses") or ()):
            self.restarts.add(status)
            state = status.get("state") or {}
            terminated = state.get("terminated")
            if (state.get("waiting") or {}).get("reason"):
                self.reason = state["waiting"]["reason"]
            elif terminated is not None:
                self.reason = _end(terminated)
                failure = self.reason if terminated.get("exitCode") else failure
            elif status.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and _is_true(self._pod, "Ready"):
                self.reason = "Running"
            else:
                self.reason = failure or ("NotReady" if running else self.reason)

    def _delete(self) -> None:
        status = self._pod["status"]
        if "deletionTimestamp" in self._pod["metadata"]:
            if status.get("reason") == "NodeLost":
                self.reason = "Unknown"
            elif status.get("phase") not in _FINISHED:
                self.reason = "Terminating"


def _end(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    return f"Signal:{terminated['signal']}" if terminated.get("signal") else f"ExitCode:{terminated.get('exitCode', 0)}"


def _conditions(pod: Object) -> Iterator[Object]:
    yield from pod["status"].get("conditions") or ()


def _is_true(pod: Object, name: str) -> bool:
    return any(each.get("type") == name and each.get("status") == "True" for each in _conditions(pod))


def _restarts(pod: Object, now: datetime) -> str:
    restarts = _Summary(pod).restarts
    return f"{restarts.count} ({age(restarts.last, now)} ago)" if restarts.count and restarts.last else str(restarts.count)


def _ready(pod: Object, _now: datetime) -> str:
    summary = _Summary(pod)
    return f"{summary.ready}/{summary.total}"


def _address(pod: Object, _now: datetime) -> Any:
    return next((each.get("ip") for each in pod["status"].get("podIPs") or ()), "") or _NONE


def _gates(pod: Object, _now: datetime) -> str:
    gates = pod["spec"].get("readinessGates") or ()
    first: dict[str, str] = {}
    for condition in _conditions(pod):
        first.setdefault(condition["type"], condition["status"])
    passed = sum(first.get(gate["conditionType"]) == "True" for gate in gates)
    return f"{passed}/{len(gates)}" if gates else _NONE


WORKLOAD_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "deployments": (
        NAME,
        text("Ready", "How many of the wanted pods are ready.", ratio("status.readyReplicas", "spec.replicas")),
        text("Up-to-date", "How many pods have the current template.", lambda obj, _now: find(obj, "status.updatedReplicas") or 0),
        text("Available", "How many pods are available.", lambda obj, _now: find(obj, "status.availableReplicas") or 0),
        AGE,
        *containers(_TEMPLATE),
        text("Selector", "Labels of the selected pods.", lambda obj, _now: selector_text(find(obj, "spec.selector")), priority=1),
    ),
    "statefulsets": (
        NAME,
        text("Ready", "How many of the wanted pods are ready.", ratio("status.readyReplicas", "spec.replicas")),
        AGE,
        *containers(_TEMPLATE),
    ),
    "replicasets": (*_REPLICAS, *pod_template_columns(_TEMPLATE)),
    "replicationcontrollers": (
        *_REPLICAS,
        *containers(_TEMPLATE),
        text("Selector", "Labels of the selected pods.", lambda obj, _now: labels_text(find(obj, "spec.selector")), priority=1),
    ),
    "daemonsets": (
        NAME,
        number("Desired", "status.desiredNumberScheduled", "How many nodes shall run the pod."),
        number("Current", "status.currentNumberScheduled", "How many of these nodes run the pod."),
        number("Ready", "status.numberReady", "How many of these pods are ready."),
        number("Up-to-date", "status.updatedNumberScheduled", "How many of these pods have the current template."),
        number("Available", "status.numberAvailable", "How many of these pods are available."),
        text("Node Selector", "Labels of the selected nodes.", lambda obj, _now: labels_text(find(obj, f"{_TEMPLATE}.spec.nodeSelector"))),
        AGE,
        *pod_template_columns(_TEMPLATE),
    ),
    "jobs": (
        NAME,
        text("Status", "The state of the job.", _job_state),
        text("Completions", "How many of the wanted pods have succeeded.", _completions),
        text("Duration", "The time that the job took, or has taken.", _duration),
        AGE,
        *pod_template_columns(_TEMPLATE),
    ),
    "cronjobs": (
        NAME,
        field("Schedule", "spec.schedule", "When jobs start, in the format of cron."),
        field("Timezone", "spec.timeZone", "The time zone of the schedule.", missing="<none>"),
        Column("Suspend", "boolean", description="Whether no jobs start.", cell=_suspended),
        length("Active", "status.active", "How many jobs run."),
        text("Last Schedule", "The time since the last job started.", _last_schedule),
        AGE,
        *pod_template_columns("spec.jobTemplate.spec.template", "spec.jobTemplate.spec.selector"),
    ),
    "horizontalpodautoscalers": (
        NAME,
        text("Reference", "The scaled object.", _target),
        text("Targets", "The current and wanted metrics.", _metrics),
        text("MinPods", "The smallest number of pods.", _as_text("spec.minReplicas", "<unset>")),
        text("MaxPods", "The largest number of pods.", lambda obj, _now: find(obj, "spec.maxReplicas") or 0),
        text("Replicas", "The number of pods.", lambda obj, _now: find(obj, "status.currentReplicas") or 0),
        AGE,
    ),
    "poddisruptionbudgets": (
        NAME,
        text("Min Available", "How many pods must stay available.", _as_text("spec.minAvailable", "N/A")),
        text("Max Unavailable", "How many pods may be unavailable.", _as_text("spec.maxUnavailable", "N/A")),
        number("Allowed Disruptions", "status.disruptionsAllowed", "How many pods may be evicted now."),
        AGE,
    ),
    "controllerrevisions": (
        NAME,
        text("Controller", "The owner of the revision.", _controller),
        text("Revision", "The number of the revision.", lambda obj, _now: obj.get("revision", 0)),
        AGE,
    ),
    "pods": (
        NAME,
        text("Ready", "How many containers are ready.", _ready),
        text("Status", "The state of the containers.", lambda pod, _now: _Summary(pod).reason),
        text("Restarts", "How often containers were restarted, and the time since the last one.", _restarts),
        AGE,
        text("IP", "The address of the pod.", _address, priority=1),
        field("Node", "spec.nodeName", "The node that runs the pod.", missing=_NONE, priority=1),
        field("Nominated Node", "status.nominatedNodeName", "The node that is made free for the pod.", missing=_NONE, priority=1),
        text("Readiness Gates", "How many readiness gates are true.", _gates, priority=1),
    ),
    "podtemplates": (
        NAME,
        *containers("template", priority=0),
        text("Pod Labels", "The labels of the pods.", lambda obj, _now: labels_text(find(obj, "template.metadata.labels"))),
    ),
}
"""Columns by plural."""
