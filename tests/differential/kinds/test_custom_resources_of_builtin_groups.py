"""Tests of definitions in built-in groups: they are accepted, but the built-in group answers, and its objects stay."""

import copy
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step, wait_for_code, wait_for_removal
from tests.differential.helpers.differences import compared
from tests.support.builders.crds import crd

pytestmark = pytest.mark.slow

GROUP: Final = "rbac.authorization.k8s.io"
ROOT: Final = f"/apis/{GROUP}"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
APPROVED: Final = {"api-approved.kubernetes.io": "https://github.com/kubernetes/kubernetes/pull/1"}
SCHEMA: Final = {"openAPIV3Schema": {"type": "object"}}
ROLES: Final = f"{ROOT}/v1/namespaces/default/roles"


def _definition(plural: str, kind: str) -> dict[str, Any]:
    versions = [{"name": name, "served": True, "storage": name == "v1", "schema": SCHEMA} for name in ("v1", "v2")]
    made = copy.deepcopy(crd(plural, *versions, kind=kind, group=GROUP, scope="Namespaced"))
    made["metadata"]["annotations"] = APPROVED
    return made


def test_definitions(pair: Pair) -> None:
    """Create definitions of a new and of a built-in resource, ask for both, and delete them with all their objects."""
    kept = {"apiVersion": f"{GROUP}/v1", "kind": "Role", "metadata": {"name": "survivor"}}
    made = [_definition("widgets", "Widget"), _definition("roles", "Role")]
    compared(pair, [Step("POST", ROLES, kept)])
    for side in (pair.reference, pair.ours):
        for definition in made:
            side.raw(Step("POST", CRDS, definition))
        wait_for_code(side, Step("GET", f"{CRDS}/roles.{GROUP}"), 200)
    paths = ("v1/widgets", "v2/widgets", "v2/roles", "v1/namespaces/default/widgets", "v1/namespaces/default/roles/survivor")
    try:
        compared(pair, [Step("GET", f"{ROOT}/{path}", retry=True) for path in (*paths, "v2")])
    finally:
        for side in (pair.reference, pair.ours):
            for definition in made:
                side.raw(Step("DELETE", f"{CRDS}/{definition['metadata']['name']}"))
                wait_for_removal(side, f"{CRDS}/{definition['metadata']['name']}")

    compared(pair, [Step("GET", f"{ROLES}/survivor"), Step("DELETE", f"{ROLES}/survivor")])
