"""A kube-apiserver with RBAC decides about the requests to apiext."""

import http
import http.client
import json
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.controlplane import ControlPlane

pytestmark = pytest.mark.slow

EVENTS: Final = "/api/v1/namespaces/default/events"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
_GRANTED: Final = 40.0


def _ask(plane: ControlPlane, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    connection = http.client.HTTPSConnection(urllib.parse.urlsplit(plane.url).netloc, timeout=10, context=plane.ssl_context())
    try:
        connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"})
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


@pytest.fixture(scope="module")
def server(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """A server that asks the control plane, and knows ann and bob by their tokens."""
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
    assert _ask(control_plane, "POST", f"{RBAC}/clusterroles", role)[0] == http.HTTPStatus.CREATED
    assert _ask(control_plane, "POST", f"{RBAC}/clusterrolebindings", binding)[0] == http.HTTPStatus.CREATED
    try:
        with ApiextServer(folder, extra_args=extra) as started:
            yield started
    finally:
        for kind in ("clusterrolebindings", "clusterroles"):
            _ask(control_plane, "DELETE", f"{RBAC}/{kind}/apiext-readers")


def _as(server: ApiextServer, name: str, method: str, path: str) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {name}-token"} if name else {}
    status, _, body = server.request(method, path, headers=headers, credentials=False)
    return status, json.loads(body) if body.startswith(b"{") else body.decode()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _GRANTED
    while not condition():
        assert time.monotonic() < deadline, "RBAC has not heard of the new role"


def test_rules_of_the_other_server_hold(server: ApiextServer) -> None:
    """Who has a role may what it allows and nothing else, in the reference's words; masters may everything."""
    _until(lambda: _as(server, "ann", "GET", EVENTS)[0] == http.HTTPStatus.OK)

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


def test_anonymous_requests_are_asked_about_too(server: ApiextServer) -> None:
    """Everybody may read the version in RBAC's own rules, and the health endpoints without any."""
    assert _as(server, "", "GET", "/version")[0] == http.HTTPStatus.OK
    assert _as(server, "", "GET", "/readyz")[0] == http.HTTPStatus.OK
    assert _as(server, "", "GET", EVENTS)[0] == http.HTTPStatus.FORBIDDEN


def test_a_server_that_is_away(tmp_path: Path) -> None:
    """Where nobody decides, only masters and the health endpoints get an answer other than 500."""
    kubeconfig = tmp_path / "kubeconfig"
    context = {"name": "c", "context": {"cluster": "c"}}
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    kubeconfig.write_text(json.dumps({"current-context": "c", "contexts": [context], "clusters": [cluster]}))
    extra = ["--authorization-mode=Webhook", f"--authorization-kubeconfig={kubeconfig}"]
    with ApiextServer(tmp_path, extra_args=extra) as server:
        status, text = _as(server, "", "GET", "/version")

        assert (status, text[:44]) == (500, 'Internal Server Error: "/version": Post "htt')
        assert server.request("GET", EVENTS)[0] == http.HTTPStatus.OK
