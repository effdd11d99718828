"""Which APIServices a group gets."""

from typing import Any

import pytest

from apiext.operator.apiservices.plan import Act, Owner, owner, plan, unavailable
from apiext.operator.group_state import Routing
from tests.support.servers.memory_api import merged
from tests.unit.operator.parts import GROUP, TARGET, api_service, crd, mirror, own, registered, state

FOREIGN = api_service(labels={}, service={"namespace": "default", "name": "other", "port": 443})
BUILT_IN = api_service(labels={"kube-aggregator.kubernetes.io/automanaged": "onstart"})
HAND_MADE = registered() | {"metadata": registered()["metadata"] | {"labels": {}}}


def _acts(*args: Any, **more: Any) -> list[tuple[Act, str]]:
    return [(step.act, step.version) for step in plan(state(*args, **more), Routing.AS_IT_IS, TARGET).steps]


@pytest.mark.parametrize(
    "found,expected",
    [
        (None, Owner.NOBODY),
        (registered(), Owner.APIEXT),
        (HAND_MADE, Owner.APIEXT),
        (api_service(), Owner.HOST),
        (api_service(labels={}), Owner.HOST),
        (BUILT_IN, Owner.OTHER),
        (FOREIGN, Owner.OTHER),
    ],
)
def test_owner(found: Any, expected: Owner) -> None:
    """Apiext's are those with its label or its Service; of the rest only those for definitions of the host may be taken."""
    assert owner(found, TARGET) is expected


def test_own_definitions_are_registered() -> None:
    """Each version that apiext serves, with all fields, and nothing of what is as it should be."""
    planned = plan(state((), [own("v1", "v2")], [registered("v1")]), Routing.AS_IT_IS, TARGET)

    (step,) = planned.steps
    assert (step.act, step.name) == (Act.REGISTER, f"v2.{GROUP}")
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


def test_versions_not_served_go() -> None:
    """What no definition serves any more is removed, if it is still what it was."""
    crd_of_v1 = own("v1", "v2")
    crd_of_v1["spec"]["versions"][1]["served"] = False
    planned = plan(state((), [crd_of_v1], [registered("v1"), registered("v2")]), Routing.AS_IT_IS, TARGET)

    (step,) = planned.steps
    assert (step.act, step.version) == (Act.REMOVE, "v2")
    assert step.body == {"preconditions": {"uid": "uid-v2", "resourceVersion": "7"}}
    assert _acts((), (), [registered()]) == [(Act.REMOVE, "v1")]


def test_mirrors_whose_definition_is_lost_stay_registered() -> None:
    """As long as apiext has it, it is served."""
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
def test_drift(change: Any, fields: tuple[str, ...]) -> None:
    """What differs is named, and the patch makes it what it was, for this state of the object alone."""
    found = merged(registered(), change)
    (step,) = plan(state((), [own()], [found]), Routing.AS_IT_IS, TARGET).steps

    assert (step.act, step.fields) == (Act.REPAIR, fields)
    assert step.body["metadata"]["resourceVersion"] == "7"
    after = merged(found, step.body)
    assert (after["spec"], after["metadata"]["labels"]) == (registered()["spec"], registered()["metadata"]["labels"])


def test_labels_of_others_stay() -> None:
    """Only what apiext says is its matter."""
    assert _acts((), [own()], [merged(registered(), {"metadata": {"labels": {"team": "a"}, "annotations": {"b": "c"}}})]) == []


def test_taking_over() -> None:
    """All versions of a group that is adopted, in place, with those that only the mirror has, and kube-apiserver's label gone."""
    group = state([crd("v1", "v2")], [mirror("v1", "v3")], [api_service("v1"), api_service("v2")])
    planned = plan(group, Routing.APIEXT, TARGET)

    assert [(step.act, step.version) for step in planned.steps] == [(Act.TAKE_OVER, "v1"), (Act.TAKE_OVER, "v2"), (Act.REGISTER, "v3")]
    assert merged(api_service("v1"), planned.steps[0].body)["spec"] == registered("v1")["spec"]
    assert planned.steps[0].body["metadata"]["labels"] == {
        "app.kubernetes.io/managed-by": "apiext",
        "kube-aggregator.kubernetes.io/automanaged": None,
    }


def test_giving_back() -> None:
    """A group that goes back is never without an APIService: it becomes what kube-apiserver would have made."""
    (step,) = plan(state([crd()], [mirror()], [registered()]), Routing.HOST, TARGET).steps

    after = merged(registered(), step.body)
    assert step.act is Act.GIVE_BACK
    assert (after["spec"], after["metadata"]["labels"]) == (api_service()["spec"], api_service()["metadata"]["labels"])


def test_as_it_is() -> None:
    """Until a group's steps decide nothing of the host's is taken, nothing of apiext's is given up, and drift is put right."""
    assert _acts([crd()], [mirror()], [api_service()]) == []
    assert _acts([crd()], [mirror()], [registered()]) == []
    assert _acts([crd()], (), [registered()]) == []
    assert _acts([crd()], (), [registered(versionPriority=1)]) == [(Act.REPAIR, "v1")]


def test_foreign_ones_are_left_alone() -> None:
    """Those of other servers and kube-apiserver's own are told, and nothing else."""
    for found in (FOREIGN, BUILT_IN):
        planned = plan(state((), [own("v1", "v2")], [found]), Routing.AS_IT_IS, TARGET)
        assert ([step.version for step in planned.steps], planned.foreign) == (["v2"], (found,))
    assert _acts((), (), [FOREIGN]) == []


def test_another_installation_of_apiext() -> None:
    """What carries the label and points elsewhere is somebody's, once nothing here serves it, and left alone where it says whose it is."""
    elsewhere = {"namespace": "elsewhere", "name": "apiext", "port": 443}
    assert _acts((), (), [registered(service=elsewhere)]) == []
    assert _acts((), [own()], [registered(service=elsewhere)]) == [(Act.REPAIR, "v1")]

    theirs = registered(service=elsewhere, by="elsewhere/apiext")
    assert owner(theirs, TARGET) is Owner.OTHER
    assert plan(state((), [own()], [theirs]), Routing.AS_IT_IS, TARGET).foreign == (theirs,)


def test_definitions_of_both() -> None:
    """What the host serves from definitions of its own stays with the host, but for versions that only apiext has."""
    planned = plan(state([crd("v1", selected=False)], [own("v1", "v2")], [api_service()]), Routing.AS_IT_IS, TARGET)
    assert ([(step.act, step.version) for step in planned.steps], planned.kept) == ([(Act.REGISTER, "v2")], ("v1",))

    planned = plan(state([crd("v1", selected=False)], [own("v1")], [registered()]), Routing.AS_IT_IS, TARGET)
    assert (planned.steps, planned.kept) == ((), ())


def test_authorities_that_the_host_has_anyway() -> None:
    """Without authorities of its own apiext has no caBundle."""
    target = type(TARGET)(namespace="n", name="s")
    (step,) = plan(state((), [own()]), Routing.AS_IT_IS, target).steps

    assert "caBundle" not in step.body["spec"]
    assert step.body["spec"]["service"]["port"] == 443


def test_unavailable() -> None:
    """What the host says it cannot reach, of those that point at apiext."""

    def saying(found: Any, **condition: str) -> Any:
        return found | {"status": {"conditions": [{"type": "Available", **condition}]}}

    local = saying(api_service("v2"), status="False")
    broken = saying(registered(), status="False", message="m")

    assert unavailable(state((), (), [local, broken]), TARGET) == broken
    assert unavailable(state((), (), [local, saying(registered(), status="True")]), TARGET) is None
    assert unavailable(state((), (), [registered()]), TARGET) is None
