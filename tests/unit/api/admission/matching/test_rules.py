"""Rules of webhooks and policies, as in predicates/rules/rules_test.go."""

from typing import Any

import pytest

from apiext.api.admission.matching.rules import parse_rules
from apiext.api.admission.sources import RequestPlace
from apiext.base.meta.gvk import GroupVersionResource
from apiext.base.meta.request import AdmissionOperation

CREATE, UPDATE, DELETE = AdmissionOperation.CREATE, AdmissionOperation.UPDATE, AdmissionOperation.DELETE
EVERYTHING = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


def matches(
    rule: dict[str, Any],
    resource: str = "g/v/r",
    subresource: str = "",
    operation: AdmissionOperation = CREATE,
    namespace: str = "ns",
) -> bool:
    """Return whether a rule, elsewhere open to everything, matches a request."""
    group, version, name = resource.split("/")
    parsed = parse_rules([EVERYTHING | rule])[0]
    return parsed.matches(GroupVersionResource(group, version, name), subresource, operation, namespace)


@pytest.mark.parametrize(
    "rule, resource, expected",
    [
        ({"apiGroups": ["*"]}, "g/v/r", True),
        ({"apiGroups": ["g1", "g2"]}, "g2/v/r", True),
        ({"apiGroups": ["g1", "g2"]}, "g3/v/r", False),
        ({"apiGroups": []}, "g/v/r", False),
        ({"apiGroups": [""]}, "/v1/pods", True),
        ({"apiVersions": ["v1", "v2"]}, "g/v1/r", True),
        ({"apiVersions": ["v1", "v2"]}, "g/v3/r", False),
    ],
)
def test_groups_and_versions(rule: dict[str, Any], resource: str, *, expected: bool) -> None:
    """Match groups and versions exactly or by a wildcard."""
    assert matches(rule, resource) is expected


@pytest.mark.parametrize("operations, matched", [(["*"], [CREATE, UPDATE, DELETE]), (["UPDATE", "DELETE"], [UPDATE, DELETE]), ([], [])])
def test_operations(operations: list[str], matched: list[AdmissionOperation]) -> None:
    """Match operations exactly or by a wildcard."""
    assert [one for one in AdmissionOperation if matches({"operations": operations}, operation=one)] == matched


@pytest.mark.parametrize(
    "resources, matched",
    [
        (["*"], ["r", "r2"]),
        (["r/*"], ["r", "r/exec"]),
        (["r/*", "r2"], ["r", "r/exec", "r2"]),
        (["*/proxy", "*/exec"], ["r/exec", "r2/proxy"]),
        (["*/*"], ["r", "r/exec", "r2", "r2/proxy"]),
        (["r/exec"], ["r/exec"]),
    ],
)
def test_resources(resources: list[str], matched: list[str]) -> None:
    """Match resources and subresources; a wildcard without a slash includes no subresources."""
    requests = ["r", "r/exec", "r2", "r2/proxy"]

    found = [one for one in requests if matches({"resources": resources}, f"g/v/{one.partition('/')[0]}", one.partition("/")[2])]

    assert found == matched


@pytest.mark.parametrize(
    "scope, matched",
    [("Cluster", ["cluster", "namespaces"]), ("Namespaced", ["namespaced"]), ("*", ["namespaced", "cluster", "namespaces"]), ("x", [])],
)
def test_scopes(scope: str, matched: list[str]) -> None:
    """Namespaces themselves are cluster-scoped, although their requests have a namespace."""
    requests = {"namespaced": ("g/v/r", "ns"), "cluster": ("g/v/r", ""), "namespaces": ("/v1/namespaces", "ns")}

    assert [name for name, (resource, ns) in requests.items() if matches({"scope": scope}, resource, namespace=ns)] == matched


@pytest.mark.parametrize(
    "rule, covered",
    [
        ({"apiVersions": ["v9"], "scope": "Cluster"}, True),
        ({"resources": ["r"]}, False),
        ({"resources": ["r/status"]}, True),
        ({"apiGroups": ["other"]}, False),
        ({"operations": ["DELETE"]}, False),
    ],
)
def test_places(rule: dict[str, Any], *, covered: bool) -> None:
    """A place leaves out versions and scopes."""
    assert parse_rules([EVERYTHING | rule])[0].covers(RequestPlace("g", "r", "status", UPDATE)) is covered
