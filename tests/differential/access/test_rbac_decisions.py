"""Decisions by generated roles and bindings, and the default objects."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Step
from hack.lib.differential.rbac_cases import API, RBACCases
from tests.differential.helpers.rbac_pair import RBACPair, as_user
from tests.support.builders.seeds import EXPLORING, seeded

pytestmark = pytest.mark.slow

COUNT: Final = 1000 if EXPLORING else 200
"""Objects, and requests."""
ASKINGS: Final = 500


def test_decisions(servers: RBACPair) -> None:
    """Decide equally, for equal reasons, by generated roles and bindings."""
    cases = RBACCases(seeded("rbac"), COUNT)
    for step in cases.objects():
        for side in (servers.pair.reference, servers.pair.ours):
            assert side.raw(step)[0].status == 201
    servers.settle()

    different = [line for step in cases.reviews() for line in _different(servers, step)]
    assert different == []


def _different(servers: RBACPair, step: Step) -> list[str]:
    """Return a line if the decisions differ. The reference visits bindings in a random order: it may need several askings."""
    ours = _decision(servers.pair.ours.ask(step).body)
    theirs = [_decision(servers.pair.reference.ask(step).body)]
    while theirs[-1] != ours and theirs[-1][0] == ours[0] and len(theirs) < ASKINGS:
        theirs.append(_decision(servers.pair.reference.ask(step).body))
    return [] if theirs[-1] == ours else [f"{step}\n    reference: {theirs[-1]}\n    apiext:    {ours}"]


def _decision(body: Any) -> tuple[bool, list[str]]:
    """Return a decision, and the parts of its reason in order."""
    status = body["status"]
    return status["allowed"], sorted(status.get("reason", "").replace("[", "").replace("]", "").replace("rbac: RBAC: ", "").split(", "))


def test_default_objects(servers: RBACPair) -> None:
    """Create the same default objects, with the same metadata."""
    query = "?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults"
    plain = ("clusterrolebindings", "roles", "rolebindings")

    servers.check([Step("GET", f"{API}/{plural}{query}") for plural in plain])
    names = ("cluster-admin", "system:aggregate-to-edit", "system:discovery", "system:controller:namespace-controller", "system:basic-user")
    servers.check([Step("GET", f"{API}/clusterroles/{name}") for name in names])


def test_rights_of_users(servers: RBACPair) -> None:
    """Answer requests of users with no rights but those of all users alike."""
    paths = ("/api", "/apis/apps", "/version", "/healthz", "/metrics", "/openapi/v2", "/api/v1/namespaces", "/api/v1/namespaces/rbac-a")
    steps = [as_user(Step("GET", path), "nobody") for path in paths if path != "/openapi/v2"]
    steps += [as_user(Step("GET", path), "system:anonymous") for path in ("/version", "/healthz", "/api", "/metrics")]
    steps += [as_user(Step(method, f"{API}/clusterroles/x"), "nobody") for method in ("GET", "DELETE", "PUT", "PATCH")]

    servers.check([step for step in steps if step.path not in {"/api", "/version", "/apis/apps"}])
