"""Policies: the rule that applies to a request, and the messages about files."""

import logging
from pathlib import Path

import pytest

from apiext.api.audit.levels import AuditLevel
from apiext.api.audit.policy_file import PolicyFileError, load_policy, parse_policy
from apiext.base.meta.request import RequestInfo, UserInfo

ANN = UserInfo("ann", ("dev",))
HEAD = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"
NO_KIND = "failed decoding: couldn't get version/kind; json parse error: "


def _resource(**attributes: str) -> RequestInfo:
    members = {"verb": "get", "api_prefix": "apis", "group": "g", "version": "v1", "namespace": "n", "resource": "things", "name": "a"}
    return RequestInfo(is_resource=True, **{**members, **attributes})  # type: ignore[arg-type]


THING = _resource()
STATUS = _resource(subresource="status")
PATH = RequestInfo(path="/metrics/more", verb="get")


@pytest.mark.parametrize(
    "rule, matching, others",
    [
        ("{}", [THING, STATUS, PATH], []),
        ("{users: [ann]}", [THING, PATH], []),
        ("{users: [bob]}", [], [THING, PATH]),
        ("{userGroups: [ops, dev]}", [THING], []),
        ("{userGroups: [ops]}", [], [THING]),
        ("{verbs: [get, list]}", [THING, PATH], [_resource(verb="watch")]),
        ("{namespaces: [n]}", [THING], [_resource(namespace="m"), PATH]),
        ('{namespaces: [""]}', [_resource(namespace="")], [THING]),
        ("{resources: [{group: g}]}", [THING, STATUS], [_resource(group="h"), PATH]),
        ('{resources: [{group: "*", resources: [things]}]}', [THING, _resource(group="h")], [STATUS]),
        ("{resources: [{group: g, resources: [things/status]}]}", [STATUS], [THING]),
        ('{resources: [{group: g, resources: ["things/*"]}]}', [THING, STATUS], [_resource(resource="others")]),
        ('{resources: [{group: g, resources: ["*/status"]}]}', [STATUS], [THING]),
        ('{resources: [{group: g, resources: ["*"]}]}', [THING, STATUS], []),
        ("{resources: [{group: g, resources: [things], resourceNames: [b]}]}", [_resource(name="b")], [THING]),
        ("{resources: [{group: g}], namespaces: [m]}", [], [THING]),
        ("{nonResourceURLs: [/metrics*]}", [PATH], [THING]),
        ("{nonResourceURLs: [/metrics]}", [], [PATH]),
        ('{nonResourceURLs: ["*"]}', [PATH], [THING]),
    ],
)
def test_rules(rule: str, matching: list[RequestInfo], others: list[RequestInfo]) -> None:
    """Apply a rule to the requests that match all its fields."""
    policy = parse_policy(f"{HEAD}rules:\n- {{level: Request, {rule[1:]}\n- level: None\n".encode())

    for _ in range(2):
        assert [policy.evaluate(ANN, info).level for info in matching] == [AuditLevel.REQUEST] * len(matching)
        assert [policy.evaluate(ANN, info).level for info in others] == [AuditLevel.NONE] * len(others)


def test_failed_authentication_has_no_user() -> None:
    """Apply no rule for users or groups to a request without a user."""
    rules = "- {level: Request, users: [ann]}\n- {level: Request, userGroups: [dev]}\n- {level: Metadata, verbs: [get]}\n"
    policy = parse_policy(f"{HEAD}rules:\n{rules}".encode())

    assert policy.evaluate(None, THING).level is AuditLevel.METADATA


def test_first_rule_applies() -> None:
    """Apply the first rule that matches, with the omissions of the policy and its own; record nothing without a rule."""
    text = HEAD + (
        "omitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n"
        "- {level: Metadata, verbs: [get], omitStages: [Panic], omitManagedFields: false}\n- {level: RequestResponse, verbs: [get, list]}\n"
    )
    policy = parse_policy(text.encode())
    first, second = policy.evaluate(ANN, THING), policy.evaluate(ANN, _resource(verb="list"))

    assert (first.level, sorted(first.omit_stages), first.omit_managed_fields) == (AuditLevel.METADATA, ["Panic", "RequestReceived"], False)
    assert (second.level, sorted(second.omit_stages), second.omit_managed_fields) == (
        AuditLevel.REQUEST_RESPONSE,
        ["RequestReceived"],
        True,
    )
    assert policy.evaluate(ANN, _resource(verb="watch")).level is AuditLevel.NONE


@pytest.mark.parametrize(
    "text, message",
    [
        (HEAD, "loaded illegal policy with 0 rules"),
        ("rules: []", "unknown group version field audit.k8s.io/__internal, Kind=Policy in policy"),
        ("", "unknown group version field audit.k8s.io/__internal, Kind=Policy in policy"),
        (
            "apiVersion: audit.k8s.io/v1beta1\nkind: Policy",
            'failed decoding: no kind "Policy" is registered for version "audit.k8s.io/v1beta1" in scheme "pkg/runtime/scheme.go:111"',
        ),
        (
            "apiVersion: audit.k8s.io/v1\nkind: [Policy]",
            f"{NO_KIND}json: cannot unmarshal array into Go struct field .kind of type string",
        ),
        (
            "apiVersion: 1\nkind: {}",
            f"{NO_KIND}json: cannot unmarshal number into Go struct field .apiVersion of type string",
        ),
        ("apiVersion: audit.k8s.io/v1\nkind: Event", "failed decoding: converting (v1.Event) to (audit.Policy): unknown conversion"),
        (f"{HEAD}rules: x", "failed decoding: json: cannot unmarshal string into Go struct field Policy.rules of type []v1.PolicyRule"),
        (
            f"{HEAD}rules: [{{level: 3}}]",
            "failed decoding: json: cannot unmarshal number into Go struct field PolicyRule.rules.level of type v1.Level",
        ),
        ("a: [", "failed decoding: yaml: line 1: did not find expected node content"),
        (f"{HEAD}rules: [{{}}]", "rules[0].level: Required value"),
        (
            f"{HEAD}omitStages: [Foo]\nrules: [{{level: All}}]",
            (
                '[omitStages[0]: Invalid value: "Foo": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic, '
                'rules[0].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"]'
            ),
        ),
        (
            f"{HEAD}rules: [{{level: None, nonResourceURLs: [abc, /a*], namespaces: [x]}}]",
            (
                "[rules[0].nonResourceURLs[0]: Invalid value: \"abc\": non-resource URL rules must begin with a '/' character, "
                'rules[0].nonResourceURLs: Invalid value: ["abc","/a*"]: '
                "rules cannot apply to both regular resources and non-resource URLs]"
            ),
        ),
        (
            f"{HEAD}rules: [{{level: None, resources: [{{resourceNames: [a]}}]}}]",
            'rules[0].resources.resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource',
        ),
    ],
)
def test_messages(text: str, message: str) -> None:
    """Refuse an invalid policy with the reference's message."""
    with pytest.raises(PolicyFileError) as raised:
        parse_policy(text.encode())

    assert str(raised.value) == message


def test_files(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Name the file in errors, and warn of unknown fields."""
    path = tmp_path / "policy.yaml"
    with pytest.raises(PolicyFileError, match=f'failed to read file path "{path}": open {path}: no such file or directory'):
        load_policy(path)
    path.write_text(HEAD)
    with pytest.raises(PolicyFileError, match=f"loaded illegal policy with 0 rules: from file {path}"):
        load_policy(path)
    path.write_text(f"{HEAD}more: 1\nrules: [{{level: None}}]")

    with caplog.at_level(logging.WARNING):
        load_policy(path)

    assert caplog.messages == ["audit policy contains errors, falling back to lenient decoding"]
