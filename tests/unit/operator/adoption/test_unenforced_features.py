"""The report of features that are not enforced while apiext serves a group."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from apiext.operator.adoption import unenforced_features
from apiext.operator.adoption.reconcile import reconcile_group
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing
from apiext.operator.host_definitions import ConditionReason
from tests.unit.operator.adoption.world import World
from tests.unit.operator.parts import Json, crd

Make = Callable[..., World]
API = "/apis/admissionregistration.k8s.io/v1"
EVERYTHING: Json = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"], "scope": "*"}
WIDGETS: Json = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
NOTHING = "apiext serves the group"


def hooks(name: str, *rules: Json) -> Json:
    """Return a webhook configuration with a webhook for each rule."""
    return {"metadata": {"name": name}, "webhooks": [{"name": f"{name}.example.com", "rules": [rule]} for rule in rules]}


def policy(name: str, *rules: Json, without: tuple[Json, ...] = ()) -> Json:
    """Return an admission policy."""
    constraints: Json = {"resourceRules": list(rules)} | ({"excludeResourceRules": list(without)} if without else {})
    return {"metadata": {"name": name}, "spec": {"matchConstraints": constraints}}


def named(*crds: Json, **configured: list[Json]) -> list[str]:
    """Return the reported names for definitions."""
    return unenforced_features.unenforced(crds, configured, "apiext-example.com")


def matches(rule: Json, **more: Any) -> bool:
    """Return whether a webhook with a rule matches widgets with the subresources scale and status."""
    return named(crd(), MutatingWebhookConfiguration=[hooks("some", WIDGETS | rule | more)]) != []


@pytest.mark.parametrize(
    "rule",
    [
        EVERYTHING,
        {},
        {"apiGroups": ["apps", "*"], "resources": ["*"]},
        {"resources": ["pods", "widgets/*"]},
        {"resources": ["widgets/status"], "operations": ["UPDATE"]},
        {"resources": ["*/scale"], "operations": ["*"]},
        {"operations": ["CONNECT", "DELETE"], "apiVersions": ["v9", "v1"], "scope": "Namespaced"},
    ],
)
def test_matches_rules_as_kube_apiserver_does(rule: Json) -> None:
    """Match groups, versions, resources, subresources, operations and scopes as kube-apiserver does."""
    assert matches(rule)


@pytest.mark.parametrize(
    "rule",
    [
        {"apiGroups": ["apps", "other.example.com"]},
        {"apiGroups": []},
        {"resources": ["gadgets", "gadgets/*"]},
        {"resources": ["widgets/status"]},
        {"resources": ["widgets/log"], "operations": ["*"]},
        {"operations": ["CONNECT"]},
        {"apiVersions": ["v2"]},
        {"scope": "Cluster"},
    ],
)
def test_ignores_rules_for_other_requests(rule: Json) -> None:
    """Ignore a rule that matches no write of the group."""
    assert not matches(rule)


def test_considers_excluded_rules() -> None:
    """Ignore a policy that excludes all writes of the group, but not one that excludes some writes or names."""
    some = [WIDGETS, WIDGETS | {"operations": ["*"], "resourceNames": ["one"]}]
    whole = WIDGETS | {"operations": ["*"], "resources": ["widgets/*"]}
    policies = [policy("none", EVERYTHING, without=(whole,)), policy("some", EVERYTHING, without=tuple(some))]

    assert named(crd(), ValidatingAdmissionPolicy=policies) == ["ValidatingAdmissionPolicy some"]


def test_leaves_out_cel_rules() -> None:
    """Report no CEL rules: apiext enforces them."""
    one = crd()
    one["spec"]["versions"][0] = copy.deepcopy(one["spec"]["versions"][0])
    one["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "true"}]

    assert named(one) == []


def test_sorts_names_by_kind() -> None:
    """Report each kind in turn; leave out the operator's own policy, but not a webhook of that name."""
    own = "apiext-example.com"
    found = named(
        crd(),
        crd(plural="gadgets"),
        MutatingAdmissionPolicy=[policy("b", WIDGETS), policy("a", WIDGETS)],
        MutatingWebhookConfiguration=[hooks("m", {**WIDGETS, "resources": []}, WIDGETS)],
        ValidatingAdmissionPolicy=[policy(own, EVERYTHING), policy("v", EVERYTHING)],
        ValidatingWebhookConfiguration=[hooks(own, EVERYTHING), {"metadata": {"name": "empty"}}],
    )

    assert found == [
        f"ValidatingWebhookConfiguration {own}",
        "MutatingWebhookConfiguration m",
        "ValidatingAdmissionPolicy v",
        "MutatingAdmissionPolicy a",
        "MutatingAdmissionPolicy b",
    ]


def test_bounds_messages() -> None:
    """Limit the message to the size of an event, and report how many names are left out."""
    found = [f"ValidatingWebhookConfiguration {number:03}{'x' * 200}" for number in range(300)]

    assert len(unenforced_features.warning("g" * 250, found)) <= 1024
    assert unenforced_features.serving(found).endswith(" and 298 more")
    assert unenforced_features.serving(found[:1]) == f"apiext serves the group; not enforced: {found[0]}"
    assert unenforced_features.serving([]) == "apiext serves the group"


def configured(world: World) -> World:
    """Return a world whose host has a webhook, and not the other kinds."""
    items = [hooks("guard", WIDGETS), hooks("other", WIDGETS | {"apiGroups": []})]
    world.host[f"{API}/validatingwebhookconfigurations"] = {"metadata": {}, "items": items}
    return world


async def test_warns_before_the_take_over(world: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Record one event for each definition before the copy starts, and repeat the names in the final condition."""
    one = configured(world("widgets", "gadgets"))
    names = "ValidatingWebhookConfiguration guard"

    one.write_at_host("ns/one", {})
    seen = []
    one.meanwhile = lambda: seen.append((len(one.at_apiext()), len(one.events)))

    await reconcile_group(one.transition())

    assert [event[:2] for event in one.events] == [("widgets.example.com", "NotEnforced"), ("gadgets.example.com", "NotEnforced")]
    assert {events for copied, events in seen if copied} == {2}
    assert all(f"it does not enforce {names}; " in message for _, _, message in one.events)
    assert one.said[-1] == (ConditionReason.SERVING, f"apiext serves the group; not enforced: {names}")
    missing = {"MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}
    logged_kinds = [
        record
        for record in caplog.records
        if record.message == "admission configuration cannot be read, report of unenforced features is incomplete"
    ]
    assert {record.fields["kind"] for record in logged_kinds} == missing  # type: ignore[attr-defined]


async def test_warns_once(world: Make) -> None:
    """Record no second event, and keep the condition until another one was set in between."""
    one = configured(world())
    await reconcile_group(one.transition())
    events, said = list(one.events), one.said[-1]
    one.host[f"{API}/validatingwebhookconfigurations"] = {"metadata": {}, "items": []}

    await reconcile_group(one.transition())
    assert (one.events, one.said[-1]) == (events, said)

    await one.transition().report(ConditionReason.FAILED, "it is not available")
    await reconcile_group(one.transition())
    assert (one.events, one.said[-1]) == (events, (ConditionReason.SERVING, NOTHING))


async def test_warns_of_nothing(world: Make) -> None:
    """Record no event if nothing is lost."""
    one = world()

    assert (await reconcile_group(one.transition())).routing is Routing.APIEXT

    assert one.events == []
    assert one.said[-1] == (ConditionReason.SERVING, "apiext serves the group")


async def test_waits_for_the_hosts_answer(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no take-over while the host fails; a forbidden list does not prevent it."""
    one = configured(world())
    ask, codes = one.ask_host, [503]

    def answer(method: str, path: str, body: Any) -> tuple[int, Any]:
        if "webhookconfigurations" in path:
            return codes[0], {"message": "no"}
        return ask(method, path, body)

    monkeypatch.setattr(one, "ask_host", answer)
    with pytest.raises(ApiError, match="no"):
        await reconcile_group(one.transition())
    assert one.at_apiext() == {}
    assert "finalizers" not in one.crd()["metadata"]

    codes[0] = 403
    await reconcile_group(one.transition())
    assert one.said[-1] == (ConditionReason.SERVING, NOTHING)
