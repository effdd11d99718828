"""Webhooks and policies see heavy writes in worker processes as they see small ones in the server."""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

import pytest

from apiext.api.admission.dynamic import MUTATING_POLICY, VALIDATING_POLICY, DynamicAdmission
from apiext.api.admission.sources import ALL_PHASES, AdmissionPhase, HookEntry, PolicyEntry, RequestPlace, ReviewAnswer, ReviewCall
from apiext.base.meta.limits import MAX_INLINE_BYTES
from tests.support.builders.crds import widget, widget_crd, widgets_path
from tests.support.servers.in_process import InProcess
from tests.unit.api.admission.policy.fakes import Sources

BASE = widgets_path()
MERGE = {"Content_Type": "application/merge-patch+json"}
HEAVY: dict[str, Any] = {"any": {"x": "y" * 2 * MAX_INLINE_BYTES}}
RULES = {"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["widgets"], "operations": ["*"]}]}
COMMON = {
    "failurePolicy": "Fail",
    "matchConstraints": {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}, **RULES},
}


def entry(name: str, **spec: Any) -> PolicyEntry:
    """Return a policy with a binding that denies."""
    metadata = {"name": name, "uid": name, "resourceVersion": "1"}
    binding = {"metadata": metadata, "spec": {"policyName": name, "validationActions": ["Deny", "Warn"]}}
    return PolicyEntry({"metadata": metadata, "spec": COMMON | spec}, [binding])


class Policies(Sources):
    """A mutating policy that labels objects, and a validating one about their fields."""

    def __init__(self) -> None:
        super().__init__()
        self.spaces = {"default": {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}}

    def phases(self, place: RequestPlace) -> Collection[AdmissionPhase]:
        """Return both phases for widgets."""
        return ALL_PHASES if place.resource == "widgets" else ()

    def is_used(self, _phase: AdmissionPhase, *, webhooks: bool) -> bool:
        """Return that there are policies only."""
        return not webhooks

    async def webhooks(self, _phase: AdmissionPhase, _place: RequestPlace) -> Sequence[HookEntry]:
        """Return no webhooks."""
        return []

    async def review(self, _calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        """Answer no call."""
        return []

    async def policies(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[PolicyEntry]:
        """Return the policy of a phase."""
        if place.resource != "widgets":
            return []
        if phase is AdmissionPhase.MUTATING:
            label = 'Object{metadata: Object.metadata{labels: {"seen": string(size(object.spec.any.x))}}}'
            mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": label}}
            condition = [{"name": "sized", "expression": "request.operation != 'DELETE' && has(object.spec.any)"}]
            return [entry("label", mutations=[mutation], matchConditions=condition, reinvocationPolicy="Never")]
        text = "'denied ' + request.operation + ' of ' + string(size(oldObject.spec.any.x))"
        validation = {"expression": "oldObject == null || oldObject.spec.replicas != 13", "messageExpression": text}
        return [entry("check", validations=[validation])]


@pytest.fixture
async def policies() -> AsyncIterator[tuple[InProcess, DynamicAdmission]]:
    """Yield a server with these policies, without objects."""
    dynamic = DynamicAdmission(Policies().all, (MUTATING_POLICY, VALIDATING_POLICY))
    async with InProcess(dynamic=dynamic) as server:
        await server.define(widget_crd())
        yield server, dynamic


async def test_heavy_writes_are_admitted_in_workers(policies: tuple[InProcess, DynamicAdmission]) -> None:
    """Change and refuse heavy objects by policies about their fields, with the texts of small ones, and count it in the server."""
    server, dynamic = policies
    size = len(HEAVY["any"]["x"])
    created = await server.ask("POST", BASE, widget(replicas=13, **HEAVY))
    patched = await server.ask("PATCH", f"{BASE}/a", {"spec": {"replicas": 1}}, **MERGE)
    deleted = await server.ask("DELETE", f"{BASE}/a")

    assert (created.status, created.json["metadata"]["labels"]) == (201, {"seen": f"{size}"})
    for answer, operation in ((patched, "UPDATE"), (deleted, "DELETE")):
        text = f"ValidatingAdmissionPolicy 'check' with binding 'check' denied request: denied {operation} of {size}"
        assert (answer.status, answer.message) == (422, f'widgets.example.com "a" is forbidden: {text}')
        assert any(f"denied {operation}" in warning for warning in answer.warnings)
    checks = {labels[-1]: histogram.count for labels, histogram in dynamic.sources.stats.validating_policies.items()}
    assert checks["deny"] == 2
    assert server.workers.running == 0


async def test_small_objects_are_deleted_with_all_their_fields(policies: tuple[InProcess, DynamicAdmission]) -> None:
    """Give policies the whole old object of a deletion, also of a small object, whose metadata would be enough for the server."""
    server, _ = policies
    await server.ask("POST", BASE, widget(replicas=13, any={"x": "four"}))
    answer = await server.ask("DELETE", f"{BASE}/a")
    listed = await server.ask("DELETE", BASE)

    assert [one.message.rpartition(": ")[2] for one in (answer, listed)] == ["denied DELETE of 4"] * 2
