"""Strategies and defaults of roles and bindings."""

import json
from typing import Any

import pytest

from apiext.resources.registry.builtin.rbac import CLUSTER_ROLE_KIND, ROLE_BINDING_KIND, ROLE_KIND
from apiext.resources.registry.request_context import RequestContext

CONTEXT = RequestContext()


def _role(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "system:r", "namespace": "n"}, "rules": list(rules)} | more


def _binding(*subjects: dict[str, Any], **reference: str) -> dict[str, Any]:
    obj = {"metadata": {"name": "b", "namespace": "n"}, "subjects": list(subjects), "roleRef": {"kind": "Role", "name": "r"} | reference}
    ROLE_BINDING_KIND.codec().decode_body(obj, False)
    return obj


@pytest.mark.parametrize(
    "rule, fields",
    [
        ({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}, []),
        ({"verbs": [], "apiGroups": [""], "resources": ["pods"]}, ["rules[0].verbs"]),
        ({"verbs": None}, ["rules[0].apiGroups", "rules[0].resources", "rules[0].verbs"]),
        ({"verbs": ["get"], "nonResourceURLs": ["/x"]}, ["rules[0].nonResourceURLs"]),
    ],
)
def test_validates_rules(rule: dict[str, Any], fields: list[str]) -> None:
    """Require verbs, groups and resources; a Role has no URLs. Missing verbs are reported last."""
    assert [error.field for error in ROLE_KIND.strategy.validate(CONTEXT, _role(rule))] == fields


def test_stores_no_empty_rules() -> None:
    """Show admission an empty list of rules, and store it as null, as Protobuf does."""
    role = _role()
    ROLE_KIND.strategy.canonicalize(role)

    assert role["rules"] == []
    assert json.loads(ROLE_KIND.codec().encode(role).data)["rules"] is None


def test_keeps_invalid_selectors() -> None:
    """Accept the invalid label values in selectors of a ClusterRole that has such values already, but report the selector."""
    selector = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}
    role = {"metadata": {"name": "r"}, "rules": None, "aggregationRule": {"clusterRoleSelectors": [selector]}}
    new = CLUSTER_ROLE_KIND.strategy.validate(CONTEXT, role)
    changed = CLUSTER_ROLE_KIND.strategy.validate_update(CONTEXT, role, role, [])

    place = "aggregationRule.clusterRoleSelectors[0]"
    assert [error.field for error in new] == [f"{place}.matchExpressions[0].values[0]", place]
    assert [error.field for error in changed] == [place]


def test_defaults_groups() -> None:
    """Set the group of the role, users and groups, not of ServiceAccounts."""
    kinds = ("User", "Group", "ServiceAccount", "Other")
    binding = _binding(*({"kind": kind, "name": "x"} for kind in kinds))

    group = "rbac.authorization.k8s.io"
    assert binding["roleRef"] == {"apiGroup": group, "kind": "Role", "name": "r"}
    assert [subject.get("apiGroup") for subject in binding["subjects"]] == [group, group, None, None]
    assert list(binding["subjects"][0]) == ["kind", "apiGroup", "name"]


def test_the_role_of_a_binding_is_immutable() -> None:
    """Reject another role; the message shows the reference's internal type."""
    (error,) = ROLE_BINDING_KIND.strategy.validate_update(CONTEXT, _binding(name="other"), _binding(), [])

    shown = '{"APIGroup":"rbac.authorization.k8s.io","Kind":"Role","Name":"other"}'
    assert str(error) == f"roleRef: Invalid value: {shown}: field is immutable"
