"""Tests of rbac.authorization.k8s.io/v1 against the reference: defaults, validation, and the life of objects."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.kind_steps import creations, life, metadata_steps

pytestmark = pytest.mark.slow

V1: Final = "rbac.authorization.k8s.io/v1"
ROOT: Final = f"/apis/{V1}"
SPACE: Final = f"{ROOT}/namespaces/default"
_GET: Final = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
RULES: Final[tuple[Any, ...]] = (
    [],
    None,
    [_GET, _GET],
    [{}],
    [{"verbs": []}],
    [{"verbs": ["get"]}],
    [{"verbs": ["get"], "apiGroups": [""]}],
    [{"verbs": ["get"], "resources": ["pods"]}],
    [{"verbs": [], "apiGroups": [], "resources": []}],
    [{"nonResourceURLs": ["/x"]}],
    [{"verbs": ["get"], "nonResourceURLs": ["/x", "/y/*"]}],
    [{"verbs": ["get"], "nonResourceURLs": ["/x"], "apiGroups": [""]}],
    [{"verbs": ["get"], "nonResourceURLs": ["/x"], "resourceNames": ["a"]}],
    [{"verbs": ["get"], "resourceNames": ["a"]}],
    [_GET, {"apiGroups": [""]}, {"resources": ["x"]}],
    [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    [{"verbs": [""], "apiGroups": ["A B"], "resources": [""]}],
    [{**_GET, "unknown": 1}],
    [{"verbs": "get"}],
    "x",
    [None],
    {"verbs": ["get"]},
)
AGGREGATIONS: Final[tuple[Any, ...]] = (
    {},
    None,
    {"clusterRoleSelectors": []},
    {"clusterRoleSelectors": [{}]},
    {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    {"clusterRoleSelectors": [{"matchLabels": {"A B": "b", "c": "d e"}}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "", "operator": "Gt", "values": ["b c"]}]}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "A B", "operator": "DoesNotExist"}]}, {"matchExpressions": [{}]}]},
    {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b c"]}]}]},
    {"clusterRoleSelectors": {"matchLabels": {}}},
)
_ROLE_REF: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
REFERENCES: Final[tuple[Any, ...]] = (
    {},
    None,
    {"kind": "Role", "name": "r"},
    {"kind": "ClusterRole", "name": "system:x"},
    {"kind": "Other", "name": "a/b"},
    {"apiGroup": "other", "kind": "ClusterRole", "name": ".."},
    {"kind": "ClusterRole", "name": "a%b"},
    {"kind": "ClusterRole"},
    {"kind": 1},
    [],
)
SUBJECTS: Final[tuple[Any, ...]] = (
    [],
    None,
    [{}],
    [{"kind": "User", "name": "ann"}],
    [{"kind": "User", "name": "system:ann", "namespace": "x"}],
    [{"kind": "User", "name": "ann", "apiGroup": "other"}],
    [{"kind": "User"}],
    [{"kind": "Group", "name": "g"}, {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}],
    [{"kind": "ServiceAccount", "name": "a"}],
    [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}],
    [{"kind": "ServiceAccount", "name": "A_", "namespace": "B_"}],
    [{"kind": "ServiceAccount", "name": "a", "namespace": "b", "apiGroup": "rbac.authorization.k8s.io"}],
    [{"kind": "ServiceAccount"}],
    [{"kind": "Robot", "name": "a"}],
    [{"kind": "user", "name": "a"}, {"name": "b"}, {"kind": "User"}],
    "x",
    [1],
)


def _object(kind: str, name: str = "kept", **members: Any) -> dict[str, Any]:
    return {"apiVersion": V1, "kind": kind, "metadata": {"name": name}} | members


ROLE: Final = _object("Role", rules=[_GET])
CLUSTER_ROLE: Final = _object("ClusterRole", rules=[_GET, {"verbs": ["get"], "nonResourceURLs": ["/x"]}])
BINDING: Final = _object(
    "RoleBinding",
    roleRef=_ROLE_REF,
    subjects=[{"kind": "User", "name": "ann"}, {"kind": "Group", "name": "g"}, {"kind": "ServiceAccount", "name": "a", "namespace": "b"}],
)
CLUSTER_BINDING: Final = BINDING | {"kind": "ClusterRoleBinding"}
_UNCONVERTED: Final[list[dict[str, Any]]] = [{"rules": [{"verbs": "get"}]}]
_RULE_CHANGES: Final = [{"rules": rules} for rules in RULES if not isinstance(rules, str | dict)]
_BINDING_CHANGES: Final = [
    *({"roleRef": reference} for reference in REFERENCES if reference and reference.get("kind") != 1),
    *({"subjects": subjects} for subjects in SUBJECTS if not isinstance(subjects, str) and subjects != [1]),
]
BINDINGS: Final = [*({"roleRef": one} for one in REFERENCES), *({"subjects": one} for one in SUBJECTS), {"roleRef": {}, "subjects": [{}]}]
SEQUENCES: Final[dict[str, list[Step]]] = {
    "roles": [
        *metadata_steps(f"{SPACE}/roles", ROLE),
        *creations(f"{SPACE}/roles", ROLE, ({"rules": rules} for rules in RULES)),
        *life(f"{SPACE}/roles", ROLE, _RULE_CHANGES, ("metadata.namespace%3Ddefault,metadata.name!%3Dkept", "rules%3Dx"), _UNCONVERTED),
    ],
    "cluster roles": [
        *metadata_steps(f"{ROOT}/clusterroles", CLUSTER_ROLE),
        *creations(
            f"{ROOT}/clusterroles",
            CLUSTER_ROLE,
            [*({"rules": rules} for rules in RULES), *({"aggregationRule": one} for one in AGGREGATIONS)],
        ),
        *life(
            f"{ROOT}/clusterroles",
            CLUSTER_ROLE | {"aggregationRule": AGGREGATIONS[4]},
            [*_RULE_CHANGES, *({"aggregationRule": one} for one in AGGREGATIONS[:-1])],
            unconverted=_UNCONVERTED,
        ),
    ],
    "role bindings": [
        *metadata_steps(f"{SPACE}/rolebindings", BINDING),
        *creations(f"{SPACE}/rolebindings", BINDING, BINDINGS),
        *life(f"{SPACE}/rolebindings", BINDING, _BINDING_CHANGES),
    ],
    "cluster role bindings": [
        *metadata_steps(f"{ROOT}/clusterrolebindings", CLUSTER_BINDING),
        *creations(f"{ROOT}/clusterrolebindings", CLUSTER_BINDING, BINDINGS),
        *life(f"{ROOT}/clusterrolebindings", CLUSTER_BINDING, _BINDING_CHANGES),
    ],
    "missing namespaces": [
        Step("POST", f"{ROOT}/namespaces/none/roles", ROLE),
        Step("GET", f"{ROOT}/namespaces/none/roles"),
        Step("GET", f"{ROOT}/roles/x"),
        Step("POST", f"{ROOT}/roles", ROLE),
        Step("GET", f"{ROOT}/namespaces/default/clusterroles"),
        Step("GET", f"{ROOT}/robots"),
        Step("GET", "/apis/rbac.authorization.k8s.io/v1beta1/roles"),
    ],
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(pair: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    compared(pair, SEQUENCES[name])
