"""The status of ValidatingAdmissionPolicies, which apiext writes itself, and kube-controller-manager for the reference."""

from collections.abc import Iterable
from typing import Final

from hack.lib.differential.pair import Pair, Step
from hack.lib.waiting import until
from tests.differential.helpers.differences import compared

_MANAGER: Final = "validatingadmissionpolicy-status"


def copy_status(pair: Pair, path: str) -> None:
    """Wait until apiext has written the status of a policy, and write it to the reference as kube-controller-manager does."""
    until(lambda: _is_stated(pair, path))
    policy = pair.ours.ask(Step("GET", path)).body
    if policy["kind"] == "Status":
        return
    status = {name: policy["status"][name] for name in ("observedGeneration", "typeChecking")}
    kind = {name: policy[name] for name in ("apiVersion", "kind")}
    body = {**kind, "metadata": {"name": policy["metadata"]["name"]}, "status": status}
    headers = {"Content-Type": "application/apply-patch+yaml"}
    response, data = pair.reference.raw(Step("PATCH", f"{path}/status?fieldManager={_MANAGER}&force=true", body, headers))
    assert response.status == 200, data


def _is_stated(pair: Pair, path: str) -> bool:
    policy = pair.ours.ask(Step("GET", path)).body
    return bool(policy["kind"] == "Status" or policy["status"].get("observedGeneration") == policy["metadata"]["generation"])


def compared_with_status(pair: Pair, steps: Iterable[Step], path: str) -> None:
    """Compare steps about the policy at a path; after each write both servers have its status."""
    waiting: list[Step] = []
    for step in steps:
        waiting.append(step)
        if step.method != "GET" and "dryRun" not in step.path:
            compared(pair, waiting)
            waiting = []
            copy_status(pair, path)
    compared(pair, waiting)
