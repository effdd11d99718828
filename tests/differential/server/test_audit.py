"""Audit events of both servers about the same requests."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Step
from tests.differential.helpers.audited_pair import GROUP, OLD_WIDGETS, WIDGETS, AuditedPair, Case, ReferenceAbortedError, audited_pair
from tests.differential.helpers.differences import assert_none
from tests.support.admission_webhook import answering, denying, patching
from tests.support.builders import admission
from tests.support.builders.crds import widget
from tests.support.scripted_webhook import HANG

pytestmark = pytest.mark.slow

_NEVER: Final = "?resourceVersion=99999999&resourceVersionMatch=NotOlderThan"
_ATTEMPTS: Final = 5
_NOTED_TOO_LATE: Final = re.compile(r"reference: \[1\]\.annotations\.\S*webhook\.admission\.k8s\.io/\S+ = '<absent>'")
_JSON: Final = "application/json"
_APPLY: Final = "application/apply-patch+yaml"
_TABLE: Final = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PARTIAL: Final = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
_PARTIALS: Final = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AuditedPair]:
    """Start both servers with the same policy."""
    with audited_pair(tmp_path_factory.mktemp("audited")) as pair:
        yield pair


def recorded(label: str, method: str, path: str, body: Any = None, *, token: str | None = None, **headers: str) -> Case:
    """Return a request with events; keywords are headers."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    return Case(f"recorded-{label}", Step(method, path, body, named), token)


def made(name: str = "a", **more: Any) -> dict[str, Any]:
    """Return a widget."""
    return widget(name, group=GROUP, **more)


def test_reads(servers: AuditedPair) -> None:
    """Record every read of custom resources with its objects, in every form of responses."""
    cases = [
        recorded("read-create", "POST", WIDGETS, made("r")),
        recorded("read-create-quiet", "POST", WIDGETS, made("quiet")),
        recorded("get", "GET", f"{WIDGETS}/r"),
        recorded("get-yaml", "GET", f"{WIDGETS}/r", Accept="application/yaml"),
        recorded("get-pretty", "GET", f"{WIDGETS}/r?pretty=true"),
        recorded("get-table", "GET", f"{WIDGETS}/r", Accept=_TABLE),
        recorded("get-partial", "GET", f"{WIDGETS}/r", Accept=_PARTIAL),
        recorded("get-quiet", "GET", f"{WIDGETS}/quiet"),
        recorded("head", "HEAD", f"{WIDGETS}/r"),
        recorded("list", "GET", f"{WIDGETS}?limit=2"),
        recorded("list-table", "GET", f"{WIDGETS}?includeObject=Object", Accept=_TABLE),
        recorded("list-partial", "GET", WIDGETS, Accept=_PARTIALS),
        recorded("list-by-name", "GET", f"{WIDGETS}?fieldSelector=metadata.name%3Dr"),
        recorded("list-everywhere", "GET", f"/apis/{GROUP}/v1/widgets?labelSelector=none"),
        recorded("get-scale", "GET", f"{WIDGETS}/r/scale"),
        recorded("watch", "GET", f"{WIDGETS}?watch=1&timeoutSeconds=1&resourceVersion=0"),
        recorded("deprecated", "GET", f"{OLD_WIDGETS}/r"),
        recorded("deprecated-watch", "GET", f"{OLD_WIDGETS}?watch=1&timeoutSeconds=1"),
        recorded("read-delete", "DELETE", WIDGETS),
    ]

    assert_none(servers.differences(cases))


def test_writes(servers: AuditedPair) -> None:
    """Record every write of custom resources with its objects, in every form of requests."""
    patch = json.dumps({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 2}}, indent=1).encode()
    cases = [
        recorded("create", "POST", WIDGETS, made(unknown=1)),
        recorded("create-dry", "POST", f"{WIDGETS}?dryRun=All&fieldManager=x", made("dry")),
        recorded("create-generated", "POST", WIDGETS, {**made(), "metadata": {"generateName": "gen-"}}),
        recorded("create-quiet", "POST", WIDGETS, made("quiet")),
        recorded(
            "create-yaml",
            "POST",
            WIDGETS,
            f"apiVersion: {GROUP}/v1\nkind: Widget\nmetadata: {{name: y}}\n".encode(),
            Content_Type="application/yaml",
        ),
        recorded(
            "update", "PUT", f"{WIDGETS}/a", {**made(replicas=1), "metadata": {"name": "a", "resourceVersion": f"{{rv:{WIDGETS}/a}}"}}
        ),
        recorded("update-status", "PUT", f"{WIDGETS}/a/status", {**made(), "metadata": {"name": "a", "uid": f"{{uid:{WIDGETS}/a}}"}}),
        recorded("merge-patch", "PATCH", f"{WIDGETS}/a", patch),
        recorded(
            "json-patch",
            "PATCH",
            f"{WIDGETS}/a",
            b'[{"op":"test","path":"/kind","value":"Widget"}]',
            Content_Type="application/json-patch+json",
        ),
        recorded(
            "apply",
            "PATCH",
            f"{WIDGETS}/applied?fieldManager=m",
            b"spec: {size: l}\nkind: Widget\napiVersion: " + f"{GROUP}/v1".encode(),
            Content_Type=_APPLY,
        ),
        recorded("patch-scale", "PATCH", f"{WIDGETS}/a/scale", b'{"spec":{"replicas":3}}'),
        recorded("delete-body", "DELETE", f"{WIDGETS}/y", {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}),
        recorded("delete-bare", "DELETE", f"{WIDGETS}/quiet"),
        recorded("delete-untyped", "DELETE", f"{WIDGETS}/applied", {"gracePeriodSeconds": 0, "preconditions": {}}),
        recorded("delete-collection", "DELETE", f"{WIDGETS}?limit=1", {"propagationPolicy": "Orphan"}),
    ]

    assert_none(servers.differences(cases))


def test_built_in_kinds(servers: AuditedPair) -> None:
    """Record namespaces, definitions and tokens, also in Protobuf, with managedFields if the policy does not omit them."""
    namespaces = "/api/v1/namespaces"
    cases = [
        recorded("namespace", "POST", namespaces, {"metadata": {"name": "audited"}}),
        recorded("namespace-patch", "PATCH", f"{namespaces}/audited", {"metadata": {"annotations": {"a": "b"}}}),
        recorded("namespace-protobuf", "GET", f"{namespaces}/kube-public", Accept=_PROTOBUF),
        recorded("namespace-in-protobuf", "GET", f"{namespaces}/audited", Accept=_PROTOBUF),
        recorded("namespaces-in-protobuf", "GET", f"{namespaces}?fieldSelector=metadata.name%3Daudited", Accept=_PROTOBUF),
        recorded("definition", "GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.{GROUP}"),
        recorded(
            "review",
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {"spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}},
        ),
        recorded("service-account", "POST", f"{namespaces}/default/serviceaccounts", {"metadata": {"name": "audited"}}),
        recorded("token", "POST", f"{namespaces}/default/serviceaccounts/audited/token", {"spec": {}}),
        recorded("invalid-token", "POST", f"{namespaces}/default/serviceaccounts/audited/token", {"spec": {"expirationSeconds": 1}}),
    ]

    assert_none(servers.differences(cases))


def test_errors(servers: AuditedPair) -> None:
    """Record the Status of each kind of failure."""
    cases = [
        recorded("missing", "GET", f"{WIDGETS}/none"),
        recorded("conflict", "POST", f"/apis/{GROUP}/v1/namespaces/kube-public/widgets", made()),
        recorded("again", "POST", f"/apis/{GROUP}/v1/namespaces/kube-public/widgets", made()),
        recorded("invalid", "POST", WIDGETS, made("Bad_Name", replicas=1)),
        recorded("wrong-type", "POST", WIDGETS, made("b", replicas="x")),
        recorded("no-json", "POST", WIDGETS, b"{"),
        recorded("no-json-patch", "PATCH", f"{WIDGETS}/none", b"{"),
        recorded("patch-missing", "PATCH", f"{WIDGETS}/none", b'{"a":1}'),
        recorded("media-type", "POST", WIDGETS, b"{}", Content_Type="text/plain"),
        recorded("not-acceptable", "GET", WIDGETS, Accept="text/plain"),
        recorded("method", "POST", f"{WIDGETS}/none/scale", made()),
        recorded("unknown-resource", "GET", f"/apis/{GROUP}/v1/nothings"),
        recorded("unknown-namespace", "POST", f"/apis/{GROUP}/v1/namespaces/none/widgets", made()),
        recorded("invalid-timeout", "GET", f"{WIDGETS}?timeout=x"),
        recorded("watch-error", "GET", f"{WIDGETS}?watch=1&resourceVersion=x"),
        recorded("limit-error", "GET", f"{WIDGETS}?limit=x"),
        recorded("old-uid", "DELETE", f"{WIDGETS}/none", {"preconditions": {"uid": "x"}}),
    ]

    assert_none(servers.differences(cases))


def test_users(servers: AuditedPair) -> None:
    """Record users, impersonation, denials and failed authentication."""
    first = f"{WIDGETS}/a"
    access = "/apis/access.example.com/v1/namespaces/default/widgets"
    cases = [
        recorded("denied", "GET", first, token="bob-token"),
        recorded("denied-list", "GET", WIDGETS, token="ann-token"),
        recorded("allowed", "GET", access, token="ann-token"),
        recorded("denied-path", "GET", "/metrics", token="bob-token"),
        recorded("impersonated", "GET", access, token="bob-token", Impersonate_User="ann"),
        recorded("impersonated-group", "GET", first, Impersonate_User="eve", Impersonate_Group="dev", Impersonate_Extra_Scopes="view"),
        recorded("constrained", "GET", f"{access}/a", token="carl-token", Impersonate_User="dave"),
        recorded("impersonation-denied", "GET", first, token="bob-token", Impersonate_User="root"),
        recorded("impersonation-invalid", "GET", first, Impersonate_Group="dev"),
        recorded("unauthenticated", "GET", first, token="wrong"),
        recorded("anonymous", "GET", first, token=""),
        recorded("anonymous-path", "GET", "/version", token=""),
        Case("none-path", Step("GET", "/readyz")),
        Case("none-list", Step("GET", WIDGETS), "carl-token"),
        recorded("forwarded", "GET", "/version", X_Forwarded_For="10.0.0.1, nonsense,2001:DB8::1", X_Real_Ip="10.0.0.2"),
        recorded("long-agent", "GET", "/version", User_Agent="x" * 1030),
        recorded("options", "OPTIONS", "/version"),
        recorded("strange-path", "GET", "/nothing/%C3%A4?q=%22<&x"),
    ]

    assert_none(servers.differences(cases))


def test_empty_segments(servers: AuditedPair) -> None:
    """Record what the reference finds in paths with empty, missing, escaped and superfluous segments, for anyone."""
    paths = [
        "/api/v1//namespaces",
        "/apis/a/b//c/d",
        "/apis/a/b//",
        "/apis/a//b",
        "/apis//b/c",
        "/apis///c",
        "/apis////c/d",
        "/apis//",
        "/api//",
        "/api//pods",
        "/api///pods",
        "/api////",
        "//api/v1/namespaces",
        "/api/v1/namespaces//",
        "/api/v1/namespaces//serviceaccounts",
        f"/apis/{GROUP}/v1/namespaces//widgets",
        f"/apis/{GROUP}/v1/namespaces//widgets/a",
        "/api/v1/namespaces/default//a",
        "/api/v1/namespaces/default/status/",
        "/api/v1/namespaces/default/serviceaccounts//status",
        "/api/v1/watch//pods",
        "/api/v1/proxy//a/b/c",
        "/api/v1/%22/%5C",
        "/api/v1/pods/%00%0A",
        "/api/v1/a%2Fb/c",
        f"/apis/{GROUP}/v1//widgets/a",
        f"{WIDGETS}//",
        f"{WIDGETS}/a//",
        f"{WIDGETS}//status",
        "/api/v1/./namespaces",
        "/api/v1/../namespaces",
        "/",
        "",
    ]
    cases = [
        recorded(f"path-{method}-{number}-{token}", method, path, token=token)
        for number, path in enumerate(paths)
        for method, token in (("GET", ""), ("GET", None), ("DELETE", "bob-token"), ("PATCH", "bob-token"))
    ]
    # without a RequestInfo there is no event
    cases += [Case(f"path-none-{number}", Step("GET", path), "") for number, path in enumerate(("/api/v1/watch", "/apis/a/b/watch/"))]

    assert_none(servers.differences(cases))


def test_hostile_texts(servers: AuditedPair) -> None:
    """Record texts of clients as JSON: quotes, control characters, and bytes that are not UTF-8."""
    odd = '"\\{},\t<\xff\xc3\xe9'
    patches = [b'{"spec":{"size":"\xff\xe2\x82 \xc3\xa9"}}', b'{"metadata":{"labels":{"a":"\xff"}}}', b'{"a":1}\n\n']
    cases = [
        recorded("odd-agent", "GET", "/version", User_Agent=odd),
        recorded("odd-user", "GET", WIDGETS, Impersonate_User=odd[:-3], Impersonate_Extra_A=odd),
        recorded("odd-address", "GET", "/version", X_Forwarded_For=odd),
        recorded("odd-query", "GET", '/version?a="\\{<>}&b=%FF'),
        recorded("odd-create", "POST", WIDGETS, made("odd")),
        *(recorded(f"odd-patch-{number}", "PATCH", f"{WIDGETS}/odd", data) for number, data in enumerate(patches)),
        recorded(
            "odd-json-patch",
            "PATCH",
            f"{WIDGETS}/odd",
            b'[{"op":"test","path":"/\xff","value":"\xff"}]',
            Content_Type="application/json-patch+json",
        ),
        recorded("odd-options", "DELETE", f"{WIDGETS}/odd", b'{"preconditions":{"uid":"\xff"}}'),
    ]

    assert_none(servers.differences(cases))


def test_admission(servers: AuditedPair) -> None:
    """Record the annotations of webhooks and policies."""
    rule = admission.rule("widgets", group=GROUP)
    nobody = {"clientConfig": {"url": "https://127.0.0.1:1/"}, "failurePolicy": "Ignore"}
    hooks = [
        admission.mutating(
            "first", admission.hook("patch.example.com", rule, reinvocationPolicy="IfNeeded"), admission.hook("noop.example.com", rule)
        ),
        admission.mutating("second", admission.hook("open.example.com", rule, **nobody)),
        admission.validating("third", admission.hook("check.example.com", rule), admission.hook("shut.example.com", rule, **nobody)),
    ]
    policies = [
        admission.validating_policy(
            "noted",
            {"expression": "object.spec.replicas < 5", "message": "too many"},
            rules=[admission.rule("widgets", group=GROUP, operations=["CREATE", "UPDATE"])],
            auditAnnotations=[{"key": "size", "valueExpression": "'size ' + object.spec.size"}],
        ),
        admission.validating_binding("noted-audit", "noted", "Audit", "Warn"),
    ]
    servers.guarded.webhook.answers.update(
        {
            "patch.example.com": patching({"op": "add", "path": "/metadata/labels", "value": {"x": "y"}}, auditAnnotations={"by": "hook"}),
            "check.example.com": answering(auditAnnotations={"checked": "yes", "reason": "none"}),
        }
    )
    with servers.guarded.installed(*hooks, *policies):
        cases = [
            recorded("admitted", "POST", WIDGETS, made("w", replicas=7)),
            recorded("admitted-patch", "PATCH", f"{WIDGETS}/w", b'{"spec":{"replicas":1}}'),
            recorded(
                "admitted-update",
                "PUT",
                f"{WIDGETS}/w",
                {**made("w", replicas=9), "metadata": {"name": "w", "resourceVersion": f"{{rv:{WIDGETS}/w}}"}},
            ),
            recorded("admitted-delete", "DELETE", f"{WIDGETS}/w"),
        ]
        found = servers.differences(cases)
        servers.guarded.webhook.answers["check.example.com"] = denying("no", reason="Forbidden")
        found += servers.differences([recorded("refused", "POST", WIDGETS, made("v"))])

    assert_none(found)


def test_parameters_in_annotations(servers: AuditedPair) -> None:
    """Record the annotations that policies make of parameters, and those of failed validations."""
    limits = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits", "namespace": "default"}, "data": {"max": "5"}}
    widgets = [admission.rule("widgets", group=GROUP, operations=["CREATE"])]
    expressions = {"max": "'at most ' + params.data.max", "none": "null", "space": "' ' + params.metadata.name + ' '", "empty": "''"}
    annotations = [{"key": key, "valueExpression": expression} for key, expression in expressions.items()]
    checked = {"expression": "object.spec.replicas < int(params.data.max)", "messageExpression": "'more than ' + params.data.max"}
    policies = [
        admission.validating_policy(
            "limited", checked, rules=widgets, paramKind={"apiVersion": "v1", "kind": "ConfigMap"}, auditAnnotations=annotations
        ),
        *(
            admission.validating_binding(
                f"limited-{name}",
                "limited",
                "Audit",
                paramRef={"name": name, "namespace": "default", "parameterNotFoundAction": action},
            )
            for name, action in (("limits", "Deny"), ("gone", "Allow"))
        ),
    ]
    for _, side in servers.guarded.sides:
        side.raw(Step("POST", "/api/v1/namespaces/default/configmaps", limits))
    with servers.guarded.installed(*policies):
        cases = [recorded(f"limited-{number}", "POST", f"{WIDGETS}?dryRun=All", made("l", replicas=number)) for number in (3, 7)]
        found = servers.differences(cases)

    assert_none(found)


def test_webhooks_that_outlast_the_request(servers: AuditedPair) -> None:
    """Record that webhooks failed open although the request ended while they were asked.

    In the reference the write goes on while the request is answered: its event may lack what it notes too late, or it aborts the request.
    """
    rule = admission.rule("widgets", group=GROUP)
    found: list[str] = []
    for make in (admission.mutating, admission.validating):
        for policy in ("Ignore", "Fail"):
            hooks = [admission.hook("slow.example.com", rule, timeoutSeconds=20, failurePolicy=policy)]
            with servers.guarded.installed(make("slow", *hooks)):
                servers.guarded.webhook.answers["slow.example.com"] = lambda _call: HANG
                found += _outlasted(servers, f"outlasted-{make.__name__}-{policy}")

    assert_none(found)


def _outlasted(servers: AuditedPair, label: str) -> list[str]:
    for attempt in range(_ATTEMPTS):
        case = recorded(f"{label}-{attempt}", "POST", f"{WIDGETS}?timeout=1s", made("outlasted"))
        with suppress(ReferenceAbortedError):
            return [line for line in servers.differences([case]) if not _NOTED_TOO_LATE.search(line)]
    return [f"{label}: the reference closed all connections"]
