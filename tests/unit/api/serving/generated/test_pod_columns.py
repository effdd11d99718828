"""Columns of pods."""

from datetime import UTC, datetime
from typing import Any, Final

import pytest

from apiext.api.endpoints.responsewriters.table import TableConvertor
from apiext.api.serving.generated.workload_columns import WORKLOAD_COLUMNS

NOW: Final = datetime(2024, 1, 1, 0, 1, tzinfo=UTC)
_RUNNING: Final = {"name": "c", "ready": True, "restartCount": 0, "state": {"running": {}}}
_SIDECAR: Final = {"name": "s", "ready": True, "started": True, "restartCount": 1, "state": {"running": {}}}
_DONE: Final = {"terminated": {"exitCode": 0, "reason": "Completed"}}
_READY: Final = [{"type": "Ready", "status": "True"}]


def _cells(status: dict[str, Any], *, deleted: bool = False, init: tuple[dict[str, Any], ...] = (), containers: int = 1) -> list[Any]:
    metadata: dict[str, Any] = {"name": "p", "creationTimestamp": "2024-01-01T00:00:00Z"}
    if deleted:
        metadata["deletionTimestamp"] = "2024-01-01T00:00:00Z"
    spec = {"containers": [{"name": name} for name in "cd"[:containers]], "initContainers": list(init)}
    return TableConvertor(WORKLOAD_COLUMNS["pods"]).row({"metadata": metadata, "spec": spec, "status": status}, NOW)[1:5]


@pytest.mark.parametrize(
    "status, cells",
    [
        ({"phase": "Pending"}, ["0/1", "Pending", "0", "60s"]),
        ({"phase": "Failed", "reason": "Evicted"}, ["0/1", "Evicted", "0", "60s"]),
        ({"phase": "Running", "containerStatuses": [_RUNNING]}, ["1/1", "Running", "0", "60s"]),
        (
            {"phase": "Running", "containerStatuses": [{**_RUNNING, "ready": False, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
            ["0/1", "CrashLoopBackOff", "0", "60s"],
        ),
        (
            {
                "phase": "Running",
                "containerStatuses": [
                    {**_RUNNING, "restartCount": 2, "lastState": {"terminated": {"exitCode": 1, "finishedAt": "2024-01-01T00:00:30Z"}}}
                ],
            },
            ["1/1", "Running", "2 (30s ago)", "60s"],
        ),
        (
            {"phase": "Failed", "containerStatuses": [{"name": "c", "restartCount": 0, "state": {"terminated": {"exitCode": 3}}}]},
            ["0/1", "ExitCode:3", "0", "60s"],
        ),
        (
            {"phase": "Failed", "containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": 137, "signal": 9}}}]},
            ["0/1", "Signal:9", "0", "60s"],
        ),
        (
            {"phase": "Pending", "conditions": [{"type": "PodScheduled", "reason": "SchedulingGated", "status": "False"}]},
            ["0/1", "SchedulingGated", "0", "60s"],
        ),
    ],
)
def test_states(status: dict[str, Any], cells: list[str]) -> None:
    """Show how many containers are ready, the state, and the restarts."""
    assert _cells(status) == cells


def test_completed_beside_running() -> None:
    """Show a pod with a completed container as running if it is ready, else as not ready."""
    statuses = [{"name": "c", "state": _DONE}, {**_RUNNING, "name": "d"}]

    assert _cells({"phase": "Running", "containerStatuses": statuses, "conditions": _READY}, containers=2)[1] == "Running"
    assert _cells({"phase": "Running", "containerStatuses": statuses}, containers=2)[1] == "NotReady"


@pytest.mark.parametrize(
    "state, shown",
    [
        ({"terminated": {"exitCode": 1, "reason": "Error"}}, "Init:Error"),
        ({"terminated": {"exitCode": 1}}, "Init:ExitCode:1"),
        ({"waiting": {"reason": "ImagePullBackOff"}}, "Init:ImagePullBackOff"),
        ({"waiting": {"reason": "PodInitializing"}}, "Init:0/1"),
    ],
)
def test_init_containers(state: dict[str, Any], shown: str) -> None:
    """Show the first init container that is not done."""
    assert _cells({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": state}]}, init=({"name": "i"},))[1] == shown


def test_sidecars() -> None:
    """Count started sidecars as containers."""
    status = {"phase": "Running", "initContainerStatuses": [_SIDECAR], "containerStatuses": [_RUNNING]}

    assert _cells(status, init=({"name": "s", "restartPolicy": "Always"},))[:3] == ["2/2", "Running", "1"]


def test_deletion() -> None:
    """Show a pod that is being deleted, unless it is finished or its node is lost."""
    assert _cells({"phase": "Running"}, deleted=True)[1] == "Terminating"
    assert _cells({"phase": "Succeeded"}, deleted=True)[1] == "Succeeded"
    assert _cells({"phase": "Running", "reason": "NodeLost"}, deleted=True)[1] == "Unknown"
