"""Reconciliation of default roles and bindings."""

from typing import Any

import pytest

from apiext.api.serving.rbac.bootstrap_policy import ANNOTATIONS, LABELS, PLURALS, default_objects, reconciled

RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
MORE = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}
ANN = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "ann"}
BOB = {**ANN, "name": "bob"}


def obj(**members: Any) -> dict[str, Any]:
    """Return an object with the metadata of a default one."""
    return {"metadata": {"name": "x", "labels": dict(LABELS), "annotations": dict(ANNOTATIONS)}, **members}


@pytest.mark.parametrize(
    "existing, expected, member, found",
    [
        (obj(rules=[RULE]), obj(rules=[RULE]), "rules", [RULE]),
        (obj(rules=[MORE]), obj(rules=[RULE]), "rules", [MORE]),
        (obj(rules=[RULE]), obj(rules=[MORE]), "rules", [RULE, {**RULE, "verbs": ["list"]}]),
        (obj(roleRef={}, subjects=[BOB]), obj(roleRef={}, subjects=[ANN, BOB]), "subjects", [BOB, ANN]),
        (obj(roleRef={}, subjects=None), obj(roleRef={}, subjects=[ANN]), "subjects", [ANN]),
        (obj(rules=[], aggregationRule={"clusterRoleSelectors": [{}]}), obj(rules=[]), "aggregationRule", None),
        (
            obj(rules=[]),
            obj(rules=[], aggregationRule={"clusterRoleSelectors": [{}]}),
            "aggregationRule",
            {"clusterRoleSelectors": [{}]},
        ),
    ],
)
def test_adds_what_is_missing(existing: dict[str, Any], expected: dict[str, Any], member: str, found: Any) -> None:
    """Add missing rules, subjects and selectors, keep others, and remove an aggregation that is not expected."""
    assert reconciled(existing, expected).get(member) == found


def test_merges_metadata() -> None:
    """Add missing labels and annotations; the values that are there stay."""
    existing = {"metadata": {"name": "x", "labels": {"a": "b"}, "annotations": {next(iter(ANNOTATIONS)): "mine"}}, "rules": []}

    metadata = reconciled(existing, obj(rules=[]))["metadata"]

    assert metadata["labels"] == {"a": "b", **LABELS}
    assert metadata["annotations"] == {next(iter(ANNOTATIONS)): "mine"}


def test_default_objects() -> None:
    """Read objects of all kinds, with the metadata that all have."""
    found = default_objects()

    assert tuple(found) == PLURALS
    assert {"cluster-admin", "admin", "edit", "view"} <= {one["metadata"]["name"] for one in found["clusterroles"]}
    for objects in found.values():
        assert all(one["metadata"]["annotations"] == ANNOTATIONS for one in objects)
        assert all(one["metadata"]["labels"].items() >= LABELS.items() for one in objects)
