"""The APIServices that a group needs."""

from dataclasses import replace
from typing import Any

import pytest

from apiext.base.meta.patch import merge_patch
from apiext.operator.apiservice_owner import Owner, owner
from apiext.operator.apiservices.plan import Action, plan, unavailable
from apiext.operator.group_state import Routing
from tests.unit.operator.parts import GROUP, TARGET, api_service, crd, mirror, own, registered, state

FOREIGN = api_service(labels={}, service={"namespace": "default", "name": "other", "port": 443})
BUILT_IN = api_service(labels={"kube-aggregator.kubernetes.io/automanaged": "onstart"})
HAND_MADE = registered() | {"metadata": registered()["metadata"] | {"labels": {}}}


def _acts(*args: Any, **more: Any) -> list[tuple[Action, str]]:
    return [(step.action, step.version) for step in plan(state(*args, **more), Routing.AS_IT_IS, TARGET).steps]


@pytest.mark.parametrize(
    "found,expected",
    [
        (None, Owner.NONE),
        (registered(), Owner.APIEXT),
        (HAND_MADE, Owner.APIEXT),
        (api_service(), Owner.HOST),
        (api_service(labels={}), Owner.HOST),
        (BUILT_IN, Owner.OTHER),
        (FOREIGN, Owner.OTHER),
    ],
)
def test_determines_the_owner(found: Any, expected: Owner) -> None:
    """Take APIServices with apiext's label or Service for its own, and those of the host's definitions for replaceable."""
    assert owner(found, TARGET) is expected


def test_registers_own_definitions() -> None:
    """Register each version that apiext serves with all fields, and change no correct APIService."""
    planned = plan(state((), [own("v1", "v2")], [registered("v1")]), Routing.AS_IT_IS, TARGET)

    (step,) = planned.steps
    assert (step.action, step.name) == (Action.REGISTER, f"v2.{GROUP}")
    assert step.body["metadata"] == {
        "name": f"v2.{GROUP}",
        "labels": {"app.kubernetes.io/managed-by": "apiext"},
        "annotations": {"apiext.dev/service": "apiext-system/apiext"},
    }
    assert step.body["spec"] == {
        "group": GROUP,
        "version": "v2",
        "groupPriorityMinimum": 1000,
        "versionPriority": 100,
        "caBundle": "Q0E=",
        "service": {"namespace": "apiext-system", "name": "apiext", "port": 8443},
    }


def test_removes_versions_not_served() -> None:
    """Remove the APIService of a version that no definition serves, if it is unchanged."""
    crd_of_v1 = own("v1", "v2")
    crd_of_v1["spec"]["versions"][1]["served"] = False
    planned = plan(state((), [crd_of_v1], [registered("v1"), registered("v2")]), Routing.AS_IT_IS, TARGET)

    (step,) = planned.steps
    assert (step.action, step.version) == (Action.REMOVE, "v2")
    assert step.body == {"preconditions": {"uid": "uid-v2", "resourceVersion": "7"}}
    assert _acts((), (), [registered()]) == [(Action.REMOVE, "v1")]


def test_keeps_mirrors_without_definition() -> None:
    """Keep the APIServices of a mirror whose definition is gone, while apiext serves it."""
    assert _acts((), [mirror()], [registered()]) == []


@pytest.mark.parametrize(
    "change,fields",
    [
        ({"spec": {"caBundle": "b2xk"}}, ("spec.caBundle",)),
        ({"spec": {"service": {"port": 443}}}, ("spec.service",)),
        ({"spec": {"versionPriority": 1, "groupPriorityMinimum": 2}}, ("spec.groupPriorityMinimum", "spec.versionPriority")),
        ({"spec": {"caBundle": None, "insecureSkipTLSVerify": True}}, ("spec.caBundle", "spec.insecureSkipTLSVerify")),
        ({"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}}, ("metadata.labels[app.kubernetes.io/managed-by]",)),
        ({"spec": {"service": {"name": "elsewhere"}}}, ("spec.service",)),
    ],
)
def test_repairs_drift(change: Any, fields: tuple[str, ...]) -> None:
    """Name the wrong fields, and repair them with the resourceVersion as precondition."""
    found = merge_patch(registered(), change)
    (step,) = plan(state((), [own()], [found]), Routing.AS_IT_IS, TARGET).steps

    assert (step.action, step.fields) == (Action.REPAIR, fields)
    assert step.body["metadata"]["resourceVersion"] == "7"
    after = merge_patch(found, step.body)
    assert (after["spec"], after["metadata"]["labels"]) == (registered()["spec"], registered()["metadata"]["labels"])


def test_keeps_foreign_labels() -> None:
    """Keep labels and annotations of other owners."""
    assert _acts((), [own()], [merge_patch(registered(), {"metadata": {"labels": {"team": "a"}, "annotations": {"b": "c"}}})]) == []


def test_takes_over_in_place() -> None:
    """Change the APIServices of all versions in place, including those of the mirror alone, and remove kube-apiserver's label."""
    group = state([crd("v1", "v2")], [mirror("v1", "v3")], [api_service("v1"), api_service("v2")])
    planned = plan(group, Routing.APIEXT, TARGET)

    assert [(step.action, step.version) for step in planned.steps] == [
        (Action.TAKE_OVER, "v1"),
        (Action.TAKE_OVER, "v2"),
        (Action.REGISTER, "v3"),
    ]
    assert merge_patch(api_service("v1"), planned.steps[0].body)["spec"] == registered("v1")["spec"]
    assert planned.steps[0].body["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "apiext",
        "kube-aggregator.kubernetes.io/automanaged": None,
    }


def test_gives_back_without_a_gap() -> None:
    """Make APIServices local in place, as kube-apiserver would create them."""
    (step,) = plan(state([crd()], [mirror()], [registered()]), Routing.HOST, TARGET).steps

    after = merge_patch(registered(), step.body)
    assert step.action is Action.GIVE_BACK
    assert (after["spec"], after["metadata"]["labels"]) == (api_service()["spec"], api_service()["metadata"]["labels"])


def test_keeps_the_routing_until_decided() -> None:
    """Take over and give up nothing until the group's steps decide, but repair drift."""
    assert _acts([crd()], [mirror()], [api_service()]) == []
    assert _acts([crd()], [mirror()], [registered()]) == []
    assert _acts([crd()], (), [registered()]) == []
    assert _acts([crd()], (), [registered(versionPriority=1)]) == [(Action.REPAIR, "v1")]


def test_leaves_foreign_api_services_alone() -> None:
    """Report APIServices of other servers and of kube-apiserver itself, and change none."""
    for found in (FOREIGN, BUILT_IN):
        planned = plan(state((), [own("v1", "v2")], [found]), Routing.AS_IT_IS, TARGET)
        assert ([step.version for step in planned.steps], planned.foreign) == (["v2"], (found,))
    assert _acts((), (), [FOREIGN]) == []


def test_leaves_other_installations_alone() -> None:
    """Leave APIServices of another apiext alone."""
    elsewhere = {"namespace": "elsewhere", "name": "apiext", "port": 443}
    assert _acts((), (), [registered(service=elsewhere)]) == []
    assert _acts((), [own()], [registered(service=elsewhere)]) == [(Action.REPAIR, "v1")]

    theirs = registered(service=elsewhere, by="elsewhere/apiext")
    assert owner(theirs, TARGET) is Owner.OTHER
    assert plan(state((), [own()], [theirs]), Routing.AS_IT_IS, TARGET).foreign == (theirs,)


def test_leaves_the_hosts_own_definitions_to_the_host() -> None:
    """Leave versions to the host that it serves from its own definitions, and register versions that only apiext has."""
    planned = plan(state([crd("v1", selected=False)], [own("v1", "v2")], [api_service()]), Routing.AS_IT_IS, TARGET)
    assert ([(step.action, step.version) for step in planned.steps], planned.kept) == ([(Action.REGISTER, "v2")], ("v1",))

    planned = plan(state([crd("v1", selected=False)], [own("v1")], [registered()]), Routing.AS_IT_IS, TARGET)
    assert (planned.steps, planned.kept) == ((), ())


def test_writes_no_ca_bundle_for_system_authorities() -> None:
    """Write no caBundle without authorities of apiext."""
    (step,) = plan(state((), [own()]), Routing.AS_IT_IS, replace(TARGET, ca_bundle="")).steps

    assert "caBundle" not in step.body["spec"]


def test_finds_unavailable_api_services() -> None:
    """Return an APIService of apiext that the host reports as unavailable."""

    def saying(found: Any, **condition: str) -> Any:
        return found | {"status": {"conditions": [{"type": "Available", **condition}]}}

    local = saying(api_service("v2"), status="False")
    broken = saying(registered(), status="False", message="m")

    assert unavailable(state((), (), [local, broken]), TARGET) == broken
    assert unavailable(state((), (), [local, saying(registered(), status="True")]), TARGET) is None
    assert unavailable(state((), (), [registered()]), TARGET) is None
