"""Tests of authorization by the RBAC of a kube-apiserver."""

import http
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.support.builders.kubeconfigs import write_kubeconfig

pytestmark = pytest.mark.slow

EVENTS: Final = "/api/v1/namespaces/default/events"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_GRANTED: Final = 40.0


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server that sends its reviews to the control plane; its token file has ann and bob."""
    folder = tmp_path_factory.mktemp("authorized")
    tokens = folder / "tokens.csv"
    tokens.write_text('ann-token,ann,1,"readers"\nbob-token,bob,2\n')
    extra = [
        "--authorization-mode=Webhook",
        f"--authorization-kubeconfig={control_plane.kubeconfig}",
        "--authorization-webhook-cache-unauthorized-ttl=100ms",
        f"--token-auth-file={tokens}",
    ]
    role = {"metadata": {"name": "apiext-readers"}, "rules": [{"apiGroups": [""], "resources": ["events"], "verbs": ["list"]}]}
    binding = {
        "metadata": {"name": "apiext-readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "apiext-readers"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "readers"}],
    }
    control_plane.client.must("POST", f"{RBAC}/clusterroles", role)
    control_plane.client.must("POST", f"{RBAC}/clusterrolebindings", binding)
    try:
        with ApiextServer(folder, extra_args=extra) as started:
            yield started
    finally:
        for kind in ("clusterrolebindings", "clusterroles"):
            control_plane.client.must("DELETE", f"{RBAC}/{kind}/apiext-readers")


def _as(server: ApiextServer, name: str, method: str, path: str) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {name}-token"} if name else {}
    status, _, body = server.request(method, path, headers=headers, credentials=False)
    return status, json.loads(body) if body.startswith(b"{") else body.decode()


def test_applies_the_rules_of_rbac(server: ApiextServer) -> None:
    """Allow what a role allows and refuse the rest with the reference's message; system:masters may do everything."""
    until(lambda: _as(server, "ann", "GET", EVENTS)[0] == http.HTTPStatus.OK, "the new role in RBAC", patience=_GRANTED)

    refused = _as(server, "ann", "GET", "/api/v1/namespaces/default")
    other = _as(server, "bob", "GET", EVENTS)

    assert (refused[0], refused[1]["message"]) == (
        403,
        'namespaces "default" is forbidden: User "ann" cannot get resource "namespaces" in API group "" in the namespace "default"',
    )
    assert (other[0], other[1]["message"]) == (
        403,
        'events is forbidden: User "bob" cannot list resource "events" in API group "" in the namespace "default"',
    )
    assert server.request("GET", EVENTS)[0] == http.HTTPStatus.OK


def test_reviews_anonymous_requests(server: ApiextServer) -> None:
    """Allow anonymous users what RBAC allows (the version), and the health endpoints without a review."""
    assert _as(server, "", "GET", "/version")[0] == http.HTTPStatus.OK
    assert _as(server, "", "GET", "/readyz")[0] == http.HTTPStatus.OK
    assert _as(server, "", "GET", EVENTS)[0] == http.HTTPStatus.FORBIDDEN


def test_fails_without_an_authorizer(tmp_path: Path) -> None:
    """Answer 500 except for system:masters and the health endpoints if the authorizer is down."""
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    extra = ["--authorization-mode=Webhook", f"--authorization-kubeconfig={kubeconfig}"]
    with ApiextServer(tmp_path, extra_args=extra) as server:
        status, text = _as(server, "", "GET", "/version")

        assert (status, text[:44]) == (500, 'Internal Server Error: "/version": Post "htt')
        assert server.request("GET", EVENTS)[0] == http.HTTPStatus.OK
