"""Which requests a FlowSchema matches; the cases follow rule.go and its tests."""

from dataclasses import replace

import pytest

from apiext.api.flowcontrol.configuration.flow_schema import Distinguisher, FlowSchema, flow_schema_steps
from apiext.api.flowcontrol.configuration.members import InvalidFlowControlObjectError
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.base.meta.steps import at_once

EVERYONE: list[Object] = [{"kind": "Group", "group": {"name": "*"}}]
EVERYTHING: Object = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"], "clusterScope": True}
ANN = UserInfo("ann", ("devs", "system:authenticated"))
ACCOUNT = UserInfo("system:serviceaccount:ns:robot", ("system:serviceaccounts", "system:serviceaccounts:ns"))
GET = RequestInfo(is_resource=True, path="/p", verb="get", group="g", resource="foos", namespace="ns")


def schema(*rules: Object, **spec: object) -> Object:
    """Return a FlowSchema."""
    return {
        "kind": "FlowSchema",
        "metadata": {"name": "fs", "uid": "u"},
        "spec": {"priorityLevelConfiguration": {"name": "pl"}, "rules": list(rules), **spec},
    }


def parsed(obj: Object) -> FlowSchema:
    """Return a FlowSchema as data."""
    return at_once(flow_schema_steps(obj))


def resource_request(**fields: str) -> RequestInfo:
    """Return a request for a resource."""
    return replace(GET, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "subject, user, matches",
    [
        ({"kind": "User", "user": {"name": "ann"}}, ANN, True),
        ({"kind": "User", "user": {"name": "bob"}}, ANN, False),
        ({"kind": "User", "user": {"name": "*"}}, ANN, True),
        ({"kind": "User", "group": {"name": "devs"}}, ANN, False),
        ({"kind": "User", "user": None}, ANN, False),
        ({"kind": "Group", "group": {"name": "devs"}}, ANN, True),
        ({"kind": "Group", "group": {"name": "ops"}}, ANN, False),
        ({"kind": "Group", "group": {"name": "*"}}, UserInfo("none"), True),
        ({"kind": "Group"}, ANN, False),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "ns", "name": "robot"}}, ACCOUNT, True),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "ns", "name": "other"}}, ACCOUNT, False),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "n", "name": "*"}}, ACCOUNT, False),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "ns", "name": "*"}}, ACCOUNT, True),
        ({"kind": "ServiceAccount", "serviceAccount": {"namespace": "ns", "name": "*"}}, ANN, False),
        ({"kind": "ServiceAccount"}, ACCOUNT, False),
        ({"kind": "Robot", "user": {"name": "ann"}}, ANN, False),
    ],
)
def test_matches_subjects(subject: Object, user: UserInfo, *, matches: bool) -> None:
    """Match users, groups and service accounts, and the stars of each."""
    found = parsed(schema({"subjects": [subject], "resourceRules": [EVERYTHING]}))

    assert found.matches(user, GET) is matches


@pytest.mark.parametrize(
    "rule, request_fields, matches",
    [
        ({}, {}, True),
        ({"verbs": ["list", "get"]}, {}, True),
        ({"verbs": ["list"]}, {}, False),
        ({"apiGroups": ["g"]}, {}, True),
        ({"apiGroups": [""]}, {}, False),
        ({"apiGroups": [""]}, {"group": ""}, True),
        ({"resources": ["foos"]}, {}, True),
        ({"resources": ["foos"]}, {"subresource": "status"}, False),
        ({"resources": ["foos/status"]}, {"subresource": "status"}, True),
        ({"resources": ["*"]}, {"subresource": "status"}, True),
        ({"resources": ["*", "bars"]}, {}, False),
        ({"namespaces": ["ns"]}, {}, True),
        ({"namespaces": ["other"]}, {}, False),
        ({"namespaces": ["ns"], "clusterScope": False}, {"namespace": ""}, False),
        ({"namespaces": ["ns"]}, {"namespace": ""}, True),
        ({"namespaces": []}, {}, False),
    ],
)
def test_matches_resource_rules(rule: Object, request_fields: dict[str, str], *, matches: bool) -> None:
    """Match verb, group, resource with subresource, and namespace or cluster scope."""
    found = parsed(schema({"subjects": EVERYONE, "resourceRules": [EVERYTHING | rule]}))

    assert found.matches(ANN, resource_request(**request_fields)) is matches


@pytest.mark.parametrize(
    "urls, path, matches",
    [
        (["*"], "/anything", True),
        (["/healthz"], "/healthz", True),
        (["/healthz"], "/healthz/ping", True),
        (["/healthz"], "/healthzz", False),
        (["/healthz/*"], "/healthz/ping", True),
        (["/healthz/*"], "/healthz", False),
        (["/apis/*", "/version"], "/version", True),
        (["/"], "/version", True),
        ([], "/version", False),
    ],
)
def test_matches_paths(urls: list[str], path: str, *, matches: bool) -> None:
    """Match paths themselves and what is below them."""
    found = parsed(schema({"subjects": EVERYONE, "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": urls}]}))

    assert found.matches(ANN, RequestInfo(path=path, verb="get")) is matches
    assert not found.matches(ANN, RequestInfo(path=path, verb="put"))
    assert not found.matches(ANN, GET)


def test_matches_one_of_several_rules() -> None:
    """Match the subjects and rules of one entry; those of different entries do not mix."""
    ann_lists = {"subjects": [{"kind": "User", "user": {"name": "ann"}}], "resourceRules": [EVERYTHING | {"verbs": ["list"]}]}
    bob_gets = {"subjects": [{"kind": "User", "user": {"name": "bob"}}], "resourceRules": [EVERYTHING | {"verbs": ["get"]}]}
    found = parsed(schema(ann_lists, bob_gets))

    assert found.matches(UserInfo("bob"), GET)
    assert not found.matches(ANN, GET)


@pytest.mark.parametrize(
    "spec, distinguisher, flow",
    [
        ({}, Distinguisher.NONE, ""),
        ({"distinguisherMethod": {"type": "ByUser"}}, Distinguisher.BY_USER, "ann"),
        ({"distinguisherMethod": {"type": "ByNamespace"}}, Distinguisher.BY_NAMESPACE, "ns"),
    ],
)
def test_distinguishes_flows(spec: Object, distinguisher: Distinguisher, flow: str) -> None:
    """Distinguish flows by user, by namespace or not at all."""
    found = parsed(schema(**spec))

    assert found.distinguisher is distinguisher
    assert found.flow(ANN, GET) == flow


def test_defaults() -> None:
    """Give a FlowSchema without a precedence the default of the API."""
    found = parsed(schema())

    assert (found.name, found.uid, found.priority_level, found.precedence) == ("fs", "u", "pl", 1000)


@pytest.mark.parametrize(
    "obj",
    [
        {"metadata": "x"},
        {"metadata": {"name": 1}},
        schema(matchingPrecedence="1"),
        schema(matchingPrecedence=True),
        schema(distinguisherMethod={"type": "ByColor"}),
        schema(distinguisherMethod={}),
        schema({"subjects": [1]}),
        schema({"subjects": [{"kind": "User", "user": []}]}),
        schema({"subjects": EVERYONE, "resourceRules": [{"verbs": [1]}]}),
        schema({"subjects": EVERYONE, "resourceRules": [{"clusterScope": "yes"}]}),
        schema({"subjects": EVERYONE, "nonResourceRules": {}}),
    ],
)
def test_refuses_invalid_objects(obj: Object) -> None:
    """Refuse members of other types and unknown methods."""
    with pytest.raises(InvalidFlowControlObjectError):
        parsed(obj)


@pytest.mark.parametrize(
    "rules",
    [
        [{"subjects": [{"kind": "User", "user": {"name": str(number)}} for number in range(5_000)]}],
        [{"resourceRules": [EVERYTHING] * 5_000}],
        [{"resourceRules": [{"verbs": [str(number) for number in range(5_000)]}]}],
        [{"nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": [f"/{number}" for number in range(5_000)]}]}],
        [{}] * 5_000,
    ],
    ids=["subjects", "rules", "verbs", "paths", "empty"],
)
def test_large_lists_take_many_steps(rules: list[Object]) -> None:
    """Interrupt the work on each list, so that a large FlowSchema does not block other requests."""
    assert sum(1 for _ in flow_schema_steps(schema(*rules))) >= 10
