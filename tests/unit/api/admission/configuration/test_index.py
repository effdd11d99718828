"""Tests of the index of webhook configurations and policies."""

import asyncio
from typing import Any, Final

import pytest

from apiext.api.admission.configuration.index import ConfigurationIndex
from apiext.api.admission.sources import AdmissionPhase, NotReadyError, RequestPlace
from apiext.base.meta.request import AdmissionOperation

VALIDATING: Final = AdmissionPhase.VALIDATING
PLACE: Final = RequestPlace("a.example.com", "widgets", "", AdmissionOperation.CREATE)


def _rule(groups: list[str], resources: list[str], operations: list[str]) -> dict[str, Any]:
    return {"apiGroups": groups, "apiVersions": ["v1"], "resources": resources, "operations": operations}


RULE: Final = _rule(["a.example.com"], ["widgets"], ["CREATE"])


def _object(name: str, revision: int = 1, **members: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"u-{name}", "resourceVersion": str(revision)}, **members}


def _configuration(name: str, *hooks: str, rules: Any = (RULE,), revision: int = 1) -> dict[str, Any]:
    return _object(name, revision, webhooks=[{"name": hook, "rules": list(rules)} for hook in hooks])


def _policy(name: str, *rules: dict[str, Any], revision: int = 1) -> dict[str, Any]:
    return _object(name, revision, spec={"matchConstraints": {"resourceRules": list(rules)}})


def _binding(name: str, policy: str, revision: int = 1) -> dict[str, Any]:
    return _object(name, revision, spec={"policyName": policy})


def _index() -> ConfigurationIndex:
    index = ConfigurationIndex(ready_timeout=0)
    for follower in index.followers.values():
        follower.replaced([])
    return index


async def _uids(index: ConfigurationIndex, place: RequestPlace = PLACE, phase: AdmissionPhase = VALIDATING) -> list[str]:
    return [entry.uid for entry in await index.webhooks(phase, place)]


async def _policies(index: ConfigurationIndex, place: RequestPlace = PLACE) -> list[tuple[str, list[str]]]:
    found = await index.policies(VALIDATING, place)
    return [(entry.policy["metadata"]["name"], [one["metadata"]["name"] for one in entry.bindings]) for entry in found]


async def test_order_and_uids_of_webhooks() -> None:
    """Return the webhooks by the names of configurations, then in their order; equal names get numbers."""
    index = _index()
    configurations = index.followers["validatingwebhookconfigurations"]
    for name in ("b", "a-2", "a"):
        configurations.changed(_configuration(name, "y", "x", "y"))

    assert await _uids(index) == [f"{name}/{hook}" for name in ("a", "a-2", "b") for hook in ("y/0", "x/0", "y/1")]
    assert await _uids(index, phase=AdmissionPhase.MUTATING) == []
    entry = (await index.webhooks(VALIDATING, PLACE))[0]
    assert (entry.configuration, entry.revision.uid, entry.revision.resource_version, entry.hook["name"]) == ("a", "u-a", "1", "y")


async def test_numbers_of_webhooks() -> None:
    """Number all webhooks of a phase, those of files first, also those without a rule for a place, and again after each change."""
    index, name = _index(), "validatingwebhookconfigurations"
    index.followers[name].changed(_configuration("a", "x", "y", rules=()))
    index.followers[name].changed(_configuration("b", "x", "y"))
    assert [entry.number for entry in await index.webhooks(VALIDATING, PLACE)] == [2, 3]
    index.file_followers[name].changed(_configuration("z.static.k8s.io", "x"))
    assert [entry.number for entry in await index.webhooks(VALIDATING, PLACE)] == [0, 3, 4]
    index.followers[name].deleted(_configuration("a"))
    assert [entry.number for entry in await index.webhooks(VALIDATING, PLACE)] == [0, 1, 2]


async def test_phases() -> None:
    """Name the phases in which a configuration may match: both while they are not known, then those of the latest changes."""
    index = ConfigurationIndex(ready_timeout=0)
    assert set(index.phases(PLACE)) == set(AdmissionPhase)
    for follower in index.followers.values():
        follower.replaced([])
    assert not index.phases(PLACE)
    index.followers["validatingwebhookconfigurations"].changed(_configuration("a", "x"))
    assert set(index.phases(PLACE)) == {VALIDATING}
    assert not index.phases(PLACE._replace(resource="others"))
    index.followers["mutatingadmissionpolicies"].changed(_policy("p", RULE))
    index.followers["mutatingadmissionpolicybindings"].changed(_binding("b", "p"))
    assert set(index.phases(PLACE)) == set(AdmissionPhase)


@pytest.mark.parametrize(
    "groups, resources, operations, place, matches",
    [
        (["a"], ["b"], ["CREATE"], ("a", "b", ""), True),
        (["a"], ["b"], ["UPDATE"], ("a", "b", ""), False),
        (["a"], ["b"], ["UPDATE", "CREATE"], ("a", "b", ""), True),
        (["x"], ["b"], ["*"], ("a", "b", ""), False),
        (["x", "a"], ["c", "b"], ["*"], ("a", "b", ""), True),
        (["*"], ["*"], ["*"], ("a", "b", ""), True),
        (["*"], ["*"], ["*"], ("a", "b", "status"), False),
        (["*"], ["*/*"], ["*"], ("a", "b", "status"), True),
        (["*"], ["*/*"], ["*"], ("a", "b", ""), True),
        (["a"], ["b/*"], ["*"], ("a", "b", ""), True),
        (["a"], ["b/*"], ["*"], ("a", "b", "scale"), True),
        (["a"], ["b/status"], ["*"], ("a", "b", "scale"), False),
        (["a"], ["*/scale"], ["*"], ("a", "b", "scale"), True),
        (["a"], ["*/scale"], ["*"], ("a", "b", ""), False),
        ([""], ["b"], ["*"], ("", "b", ""), True),
        (["events.k8s.io"], ["events"], ["*"], ("", "events", ""), True),
        ([""], ["*"], ["*"], ("events.k8s.io", "events", ""), True),
        ([""], ["pods"], ["*"], ("events.k8s.io", "events", ""), False),
        ([], ["*"], ["*"], ("a", "b", ""), False),
    ],
)
async def test_places(
    groups: list[str], resources: list[str], operations: list[str], place: tuple[str, str, str], *, matches: bool
) -> None:
    """Select by groups, resources with subresources, and operations; events are found in both of their groups."""
    index = _index()
    index.followers["validatingwebhookconfigurations"].changed(_configuration("c", "h", rules=[_rule(groups, resources, operations)]))

    found = await _uids(index, RequestPlace(*place, AdmissionOperation.CREATE))
    assert found == (["c/h/0"] if matches else [])


async def test_changes_are_visible_at_once() -> None:
    """Show a changed configuration to the next lookup; an unchanged one keeps its entries."""
    index = _index()
    configurations = index.followers["validatingwebhookconfigurations"]
    configurations.changed(_configuration("a", "x"))
    configurations.changed(_configuration("b", "x"))
    first = await index.webhooks(VALIDATING, PLACE)
    assert await index.webhooks(VALIDATING, PLACE) == first

    configurations.changed(_configuration("a", "x", rules=[], revision=2))
    assert await index.webhooks(VALIDATING, PLACE) == (first[1],)
    configurations.replaced([_configuration("b", "x"), _configuration("c", "x")])
    found = await index.webhooks(VALIDATING, PLACE)
    assert (found[0], found[1].uid) == (first[1], "c/x/0")
    configurations.deleted(_configuration("b", "x"))
    configurations.deleted(_configuration("c", "x"))
    assert await _uids(index) == []


async def test_policies_with_their_bindings() -> None:
    """Return policies that have bindings, whichever came first."""
    index = _index()
    policies, bindings = index.followers["validatingadmissionpolicies"], index.followers["validatingadmissionpolicybindings"]
    bindings.changed(_binding("b2", "p"))
    assert await _policies(index) == []
    policies.replaced([_policy("q", RULE), _policy("p", RULE), _policy("other", _rule(["x"], ["*"], ["*"]))])
    assert await _policies(index) == [("p", ["b2"])]
    bindings.changed(_binding("b1", "p"))
    bindings.changed(_binding("b3", "other"))
    assert await _policies(index) == [("p", ["b1", "b2"])]
    bindings.changed(_binding("b1", "q", revision=2))
    assert await _policies(index) == [("p", ["b2"]), ("q", ["b1"])]
    policies.deleted(_policy("p", RULE))
    assert await _policies(index) == [("q", ["b1"])]
    bindings.replaced([])
    assert await _policies(index) == []


async def test_configurations_of_files_come_first() -> None:
    """Return those of files first; a binding of the API has no effect on a policy of a file."""
    index = _index()
    index.followers["validatingwebhookconfigurations"].changed(_configuration("a", "x"))
    index.file_followers["validatingwebhookconfigurations"].changed(_configuration("z.static.k8s.io", "x"))
    index.file_followers["validatingadmissionpolicies"].changed(_policy("z.static.k8s.io", RULE))
    index.followers["validatingadmissionpolicybindings"].changed(_binding("b", "z.static.k8s.io"))

    assert await _uids(index) == ["manifest/z.static.k8s.io/x/0", "a/x/0"]
    assert await _policies(index) == []
    index.file_followers["validatingadmissionpolicybindings"].changed(_binding("b.static.k8s.io", "z.static.k8s.io"))
    assert await _policies(index) == [("z.static.k8s.io", ["b.static.k8s.io"])]


async def test_waits_for_the_first_lists() -> None:
    """Wait until the objects have been listed, and fail after the time limit."""
    index = ConfigurationIndex(ready_timeout=0)
    with pytest.raises(NotReadyError, match="ValidatingWebhookConfiguration"):
        await index.webhooks(VALIDATING, PLACE)
    with pytest.raises(NotReadyError, match=r"ValidatingAdmissionPolicy .*ValidatingAdmissionPolicyBinding"):
        await index.policies(VALIDATING, PLACE)

    index = ConfigurationIndex()
    waiting = asyncio.create_task(index.policies(VALIDATING, PLACE))
    await asyncio.sleep(0)
    followers = index.followers
    followers["validatingadmissionpolicybindings"].replaced([_binding("b", "p")])
    followers["validatingadmissionpolicies"].replaced([_policy("p", RULE)])
    assert len(await waiting) == 1
    assert {name: follower.type_name for name, follower in followers.items() if follower.synced} == {
        "validatingadmissionpolicies": "*v1.ValidatingAdmissionPolicy",
        "validatingadmissionpolicybindings": "*v1.ValidatingAdmissionPolicyBinding",
    }


async def test_a_lookup_visits_only_what_may_match(monkeypatch: pytest.MonkeyPatch) -> None:
    """Visit no configurations of other resources, and nothing at all when the place is known."""
    from apiext.api.admission.matching.rules import Rule

    index = _index()
    configurations = index.followers["validatingwebhookconfigurations"]
    configurations.replaced([_configuration(f"c{n}", "x", rules=[_rule(["a.example.com"], [f"r{n}"], ["*"])]) for n in range(1000)])
    calls: list[Rule] = []
    matches = Rule.covers

    def counted(rule: Rule, place: RequestPlace) -> bool:
        calls.append(rule)
        return matches(rule, place)

    monkeypatch.setattr(Rule, "covers", counted)
    place = RequestPlace("a.example.com", "r7", "", AdmissionOperation.UPDATE)
    assert await _uids(index, place) == ["c7/x/0"]
    assert await _uids(index, place) == ["c7/x/0"]
    assert len(calls) == 1


async def test_only_files_apply_to_configurations() -> None:
    """Only webhooks of files see writes of the kinds that configure admission; policies of the API see those of webhooks."""
    index = _index()
    everything = _rule(["*"], ["*"], ["*"])
    for followers, name in ((index.followers, "api"), (index.file_followers, "file.static.k8s.io")):
        followers["validatingwebhookconfigurations"].changed(_configuration(name, "h", rules=[everything]))
        followers["validatingadmissionpolicies"].changed(_policy(name, everything))
        followers["validatingadmissionpolicybindings"].changed(_binding(name, name))
    webhooks, policies = (
        RequestPlace("admissionregistration.k8s.io", resource, "", AdmissionOperation.CREATE)
        for resource in ("validatingwebhookconfigurations", "validatingadmissionpolicies")
    )

    assert await _uids(index, webhooks) == await _uids(index, policies) == ["manifest/file.static.k8s.io/h/0"]
    assert [name for name, _ in await _policies(index, webhooks)] == ["file.static.k8s.io", "api"]
    assert [name for name, _ in await _policies(index, policies)] == ["file.static.k8s.io"]
