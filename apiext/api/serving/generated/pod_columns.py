"""Table columns of pods (kubernetes pkg/printers/internalversion/printers.go, printPod)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.responsewriters.human_duration import age
from apiext.api.endpoints.responsewriters.table import NAME
from apiext.api.serving.builtin.printing import AGE, text
from apiext.api.serving.generated.cells import containers, field, find, labels_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apiext.base.meta.encoding.json_codec import Object

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


PODS: Final = (
    NAME,
    text("Ready", "How many containers are ready.", _ready),
    text("Status", "The state of the containers.", lambda pod, _now: _Summary(pod).reason),
    text("Restarts", "How often containers were restarted, and the time since the last one.", _restarts),
    AGE,
    text("IP", "The address of the pod.", _address, priority=1),
    field("Node", "spec.nodeName", "The node that runs the pod.", missing=_NONE, priority=1),
    field("Nominated Node", "status.nominatedNodeName", "The node that is made free for the pod.", missing=_NONE, priority=1),
    text("Readiness Gates", "How many readiness gates are true.", _gates, priority=1),
)
POD_TEMPLATES: Final = (
    NAME,
    *containers("template", priority=0),
    text("Pod Labels", "The labels of the pods.", lambda obj, _now: labels_text(find(obj, "template.metadata.labels"))),
)
