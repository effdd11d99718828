"""What is not enforced any more for a group that apiext serves."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from apiext.operator.adoption import unenforced_features
from apiext.operator.adoption.reconcile import take
from apiext.operator.api_clients import ApiError
from apiext.operator.group_state import Routing
from apiext.operator.reporting.reporter import Reason
from tests.unit.operator.adoption.world import World
from tests.unit.operator.parts import Json, crd

Make = Callable[..., World]
API = "/apis/admissionregistration.k8s.io/v1"
EVERYTHING: Json = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"], "scope": "*"}
WIDGETS: Json = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
ONLY_RULES = "apiext serves the group; not enforced: CEL rules of widgets.example.com"
RULES = [{"rule": "self.replicas > 0"}]


def hooks(name: str, *rules: Json) -> Json:
    """A webhook configuration, with a webhook for each rule."""
    return {"metadata": {"name": name}, "webhooks": [{"name": f"{name}.example.com", "rules": [rule]} for rule in rules]}


def policy(name: str, *rules: Json, without: tuple[Json, ...] = ()) -> Json:
    """A policy of admission."""
    constraints: Json = {"resourceRules": list(rules)} | ({"excludeResourceRules": list(without)} if without else {})
    return {"metadata": {"name": name}, "spec": {"matchConstraints": constraints}}


def with_rules(found: Json, version: int = 0) -> Json:
    """A definition with CEL rules below the root of a version."""
    found["spec"]["versions"][version] = one = copy.deepcopy(found["spec"]["versions"][version])
    one["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] = RULES
    return found


def named(*crds: Json, **configured: list[Json]) -> list[str]:
    """What is named for definitions."""
    return unenforced_features.unenforced(crds, configured, "apiext-example.com")


def caught(rule: Json, **more: Any) -> bool:
    """Whether a webhook with a rule is about widgets, which have the subresources scale and status."""
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
def test_rules_about_the_group(rule: Json) -> None:
    """Groups, versions, resources, subresources, operations and scopes are matched as kube-apiserver does."""
    assert caught(rule)


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
def test_rules_about_others(rule: Json) -> None:
    """A rule that no write of the group's objects can match is nobody's loss."""
    assert not caught(rule)


def test_rules_that_are_taken_out() -> None:
    """A policy that leaves all writes of the group out is not about it; one that leaves out some, or single names, is."""
    some = [WIDGETS, WIDGETS | {"operations": ["*"], "resourceNames": ["one"]}]
    whole = WIDGETS | {"operations": ["*"], "resources": ["widgets/*"]}
    policies = [policy("none", EVERYTHING, without=(whole,)), policy("some", EVERYTHING, without=tuple(some))]

    assert named(crd(), ValidatingAdmissionPolicy=policies) == ["ValidatingAdmissionPolicy some"]


def test_rules_of_schemas() -> None:
    """CEL rules are found at any depth, in versions that are served."""
    unserved = with_rules(crd("v1", "v2", plural="gadgets"), version=1)
    unserved["spec"]["versions"][1]["served"] = False

    assert named(crd(), unserved) == []
    assert named(with_rules(crd()), unserved) == ["CEL rules of widgets.example.com"]


def test_names_are_sorted() -> None:
    """Rules of definitions come first, then each kind; the operator's own policy is not named, though a webhook of that name is."""
    own = "apiext-example.com"
    found = named(
        with_rules(crd()),
        with_rules(crd(plural="gadgets")),
        MutatingAdmissionPolicy=[policy("b", WIDGETS), policy("a", WIDGETS)],
        MutatingWebhookConfiguration=[hooks("m", {**WIDGETS, "resources": []}, WIDGETS)],
        ValidatingAdmissionPolicy=[policy(own, EVERYTHING), policy("v", EVERYTHING)],
        ValidatingWebhookConfiguration=[hooks(own, EVERYTHING), {"metadata": {"name": "empty"}}],
    )

    assert found == [
        "CEL rules of gadgets.example.com",
        "CEL rules of widgets.example.com",
        f"ValidatingWebhookConfiguration {own}",
        "MutatingWebhookConfiguration m",
        "ValidatingAdmissionPolicy v",
        "MutatingAdmissionPolicy a",
        "MutatingAdmissionPolicy b",
    ]


def test_messages_are_bounded() -> None:
    """However much there is, an event has room for it, and how much is left out is told."""
    found = [f"ValidatingWebhookConfiguration {number:03}{'x' * 200}" for number in range(300)]

    assert len(unenforced_features.warning("g" * 250, found)) <= 1024
    assert unenforced_features.serving(found).endswith(" and 298 more")
    assert unenforced_features.serving(found[:1]) == f"apiext serves the group; not enforced: {found[0]}"
    assert unenforced_features.serving([]) == "apiext serves the group"


def configured(world: World) -> World:
    """A world whose host has CEL rules and a webhook; the other kinds it has not."""
    with_rules(world.crd())
    items = [hooks("guard", WIDGETS), hooks("other", WIDGETS | {"apiGroups": []})]
    world.host[f"{API}/validatingwebhookconfigurations"] = {"metadata": {}, "items": items}
    return world


async def test_it_is_told_when_the_way_begins(world: Make, caplog: pytest.LogCaptureFixture) -> None:
    """Each definition gets one event, before anything is copied, and the condition says it at the end."""
    one = configured(world("widgets", "gadgets"))
    names = "CEL rules of widgets.example.com, ValidatingWebhookConfiguration guard"

    one.write_at_host("ns/one", {})
    seen = []
    one.meanwhile = lambda: seen.append((len(one.at_apiext()), len(one.events)))

    await take(one.way())

    assert [event[:2] for event in one.events] == [("widgets.example.com", "NotEnforced"), ("gadgets.example.com", "NotEnforced")]
    assert {events for copied, events in seen if copied} == {2}
    assert all(f"nobody enforces {names}; " in message for _, _, message in one.events)
    assert one.said[-1] == (Reason.SERVING, f"apiext serves the group; not enforced: {names}")
    missing = {"MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"}
    told = [record for record in caplog.records if record.message == "what will not be enforced cannot be told wholly"]
    assert {record.fields["kind"] for record in told} == missing  # type: ignore[attr-defined]


async def test_it_is_told_once(world: Make) -> None:
    """What goes on is not told again, and the condition stays as it is until something else has been said in between."""
    one = configured(world())
    await take(one.way())
    events, said = list(one.events), one.said[-1]
    one.host[f"{API}/validatingwebhookconfigurations"] = {"metadata": {}, "items": []}

    await take(one.way())
    assert (one.events, one.said[-1]) == (events, said)

    await one.way().tell(Reason.FAILED, "it is not available")
    await take(one.way())
    assert (one.events, one.said[-1]) == (events, (Reason.SERVING, ONLY_RULES))


async def test_nothing_is_told_of_nothing(world: Make) -> None:
    """Where nothing is lost nobody is warned."""
    one = world()

    assert (await take(one.way())).routing is Routing.APIEXT

    assert one.events == []
    assert one.said[-1] == (Reason.SERVING, "apiext serves the group")


async def test_a_host_that_does_not_answer(world: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing begins unsaid where the host has trouble; what it does not allow is no trouble."""
    one = configured(world())
    ask, codes = one.ask_host, [503]

    def answer(method: str, path: str, body: Any) -> tuple[int, Any]:
        if "webhookconfigurations" in path:
            return codes[0], {"message": "no"}
        return ask(method, path, body)

    monkeypatch.setattr(one, "ask_host", answer)
    with pytest.raises(ApiError, match="no"):
        await take(one.way())
    assert one.at_apiext() == {}
    assert "finalizers" not in one.crd()["metadata"]

    codes[0] = 403
    await take(one.way())
    assert one.said[-1] == (Reason.SERVING, ONLY_RULES)
