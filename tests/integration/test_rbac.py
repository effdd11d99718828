"""RBAC of a standalone server, on each store: an operator with its own rights, restarts, and the requests that follow a write."""

import json
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.caller import Answer, Caller
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.kubectl import Kubectl
from tests.support.builders.crds import widget, widget_crd
from tests.support.servers.in_process import CRDS

RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
GROUP: Final = "rbac.example.com"
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
ACCOUNTS: Final = "/api/v1/namespaces/default/serviceaccounts"
RULE: Final = {"verbs": ["get", "list", "create"], "apiGroups": [GROUP], "resources": ["widgets"]}

OTHER: Final = {"verbs": ["get"], "apiGroups": ["other.example.com"], "resources": ["gadgets"]}


class Users:
    """A server with RBAC, and its users."""

    def __init__(self, server: ApiextServer) -> None:
        self.server = server

    def admin(self, method: str, path: str, body: Any = None) -> Answer:
        """Send a request as administrator."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = json.dumps(body).encode() if body is not None else None
        status, _, answer = self.server.request(method, path, data, headers={"Content-Type": kind})
        return status, json.loads(answer)

    def must(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request as administrator, which must succeed; return the body of the response."""
        status, answer = self.admin(method, path, body)
        assert status < 300, (method, path, answer)
        return answer

    def account(self, name: str) -> Caller:
        """Create a service account; return a client with its token."""
        self.must("POST", ACCOUNTS, {"metadata": {"name": name}})
        return self.with_token(name)

    def with_token(self, name: str) -> Caller:
        """Return a client with a new token of a service account."""
        token = self.must("POST", f"{ACCOUNTS}/{name}/token", {})["status"]["token"]
        return Caller(self.server.url, self.server.ca, token=token)

    def bind(self, name: str, role: str, account: str, namespace: str = "default") -> None:
        """Bind a ClusterRole to a service account in a namespace, or in all for ""."""
        subject = {"kind": "ServiceAccount", "name": account, "namespace": "default"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
        path = f"{RBAC}/namespaces/{namespace}/rolebindings" if namespace else f"{RBAC}/clusterrolebindings"
        self.must("POST", path, {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})


@pytest.fixture(scope="module", params=["sqlite", "etcd"])
def users(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Users]:
    """Start a server with RBAC. Each test has its own service account."""
    etcd: Etcd | None = request.getfixturevalue("etcd") if request.param == "etcd" else None
    flags = ("--authorization-mode=RBAC",)
    prefix = f"/{uuid.uuid4().hex}"
    folder = tmp_path_factory.mktemp("rbac")
    with ApiextServer(folder, etcd_url=etcd.url if etcd else None, etcd_prefix=prefix, extra_args=flags) as server:
        found = Users(server)
        found.must("POST", CRDS, widget_crd(group=GROUP))
        yield found


def test_each_write_holds_for_the_next_request(users: Users) -> None:
    """Decide by a role, a binding and their deletion from the next request on."""
    bot = users.account("next")
    for number in range(5):
        name = f"writer-{number}"
        assert bot.ask("GET", WIDGETS)[0] == 403
        users.must("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": [RULE]})
        users.bind(name, name, "next")
        assert bot.ask("GET", WIDGETS)[0] == 200
        users.must("PATCH", f"{RBAC}/clusterroles/{name}", {"rules": [{**RULE, "verbs": ["get"]}]})
        assert bot.ask("GET", WIDGETS)[0] == 403
        users.must("PATCH", f"{RBAC}/clusterroles/{name}", {"rules": [RULE]})
        assert bot.ask("POST", WIDGETS, widget(f"w-{number}", group=GROUP))[0] == 201
        users.must("DELETE", f"{RBAC}/clusterroles/{name}")
        code, refused = bot.ask("GET", WIDGETS)
        assert code == 403
        assert refused["message"].endswith(f'rbac: RBAC: clusterrole.rbac.authorization.k8s.io "{name}" not found')
        users.must("DELETE", f"{RBAC}/namespaces/default/rolebindings/{name}")
        assert bot.ask("GET", WIDGETS)[1]["message"].endswith('in the namespace "default"')


def test_aggregated_roles(users: Users) -> None:
    """Give view, edit and admin the rules of roles with their labels, as soon as those exist."""
    rules = users.must("GET", f"{RBAC}/clusterroles/admin")["rules"]
    bot = users.account("viewer")
    users.bind("view", "view", "viewer", "")
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}

    assert len(rules) > 20
    assert bot.ask("GET", WIDGETS)[0] == 403
    users.must("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "widgets-view", "labels": labels}, "rules": [RULE]})
    _eventually(lambda: bot.ask("GET", WIDGETS)[0] == 200)
    for name in ("view", "edit", "admin"):
        _eventually(partial(_has_rule, users, name))
    users.must("DELETE", f"{RBAC}/clusterroles/widgets-view")
    _eventually(lambda: bot.ask("GET", WIDGETS)[0] == 403)


def _has_rule(users: Users, role: str) -> bool:
    return RULE in users.must("GET", f"{RBAC}/clusterroles/{role}")["rules"]


def _eventually(check: Callable[[], bool]) -> None:
    for _ in range(1000):
        if check():
            return
    raise AssertionError(check)


def test_restart(users: Users) -> None:
    """Keep roles, bindings and tokens over a restart, repair default objects, and leave those alone that opt out."""
    bot = users.account("kept")
    users.must("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "mine"}, "rules": [RULE]})
    users.bind("mine", "mine", "kept")
    users.must("DELETE", f"{RBAC}/clusterroles/system:discovery")
    users.must("PATCH", f"{RBAC}/clusterroles/system:basic-user", {"rules": [OTHER], "metadata": {"labels": {"own": "label"}}})
    opted = {"metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false"}}, "rules": []}
    users.must("PATCH", f"{RBAC}/clusterroles/system:kube-dns", opted)
    binding = users.must("GET", f"{RBAC}/clusterrolebindings/system:basic-user")
    before = users.must("GET", f"{RBAC}/clusterroles/edit")["metadata"]["resourceVersion"]

    users.server.restart()

    assert bot.ask("GET", WIDGETS)[0] == 200
    assert users.must("GET", f"{RBAC}/clusterroles/system:discovery")["rules"]
    basic = users.must("GET", f"{RBAC}/clusterroles/system:basic-user")
    assert OTHER in basic["rules"]
    assert len(basic["rules"]) > 2
    assert basic["metadata"]["labels"]["own"] == "label"
    assert "rules" in (viewer := users.must("GET", f"{RBAC}/clusterroles/system:kube-dns"))
    assert not viewer["rules"]
    assert users.must("GET", f"{RBAC}/clusterrolebindings/system:basic-user") == binding
    assert users.must("GET", f"{RBAC}/clusterroles/edit")["metadata"]["resourceVersion"] == before


def test_anonymous_users(users: Users) -> None:
    """Answer anonymous users by the default roles: health and version, nothing else."""
    anonymous = Caller(users.server.url, users.server.ca)

    assert [anonymous.ask("GET", path)[0] for path in ("/healthz", "/readyz", "/version", "/api", WIDGETS)] == [200, 200, 200, 403, 403]


def test_large_roles(users: Users) -> None:
    """Decide by a role at once whose body is so large that other kinds are written in a worker process."""
    bot = users.account("many")
    many = [{**RULE, "resourceNames": [f"name-{number}-{'x' * 50}" for number in range(1000)]}, RULE]
    users.must("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "large"}, "rules": many})
    users.bind("large", "large", "many")

    assert bot.ask("GET", WIDGETS)[0] == 200


def test_kubectl(users: Users, tmp_path: Path) -> None:
    """Create a role, a service account and a token with kubectl, and use them."""
    kubectl = Kubectl(users.server.kubeconfig, tmp_path)
    kubectl("create", "clusterrole", "widgets", "--verb=get,list", f"--resource=widgets.{GROUP}")
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "rolebinding", "robot", "--clusterrole=widgets", "--serviceaccount=default:robot")
    token = kubectl("create", "token", "robot").strip()
    config = tmp_path / "robot.kubeconfig"
    server = ("config", f"--kubeconfig={config}")
    kubectl(*server, "set-cluster", "c", f"--server={users.server.url}", f"--certificate-authority={users.server.ca}")
    kubectl(*server, "set-credentials", "u", f"--token={token}")
    kubectl(*server, "set-context", "x", "--cluster=c", "--user=u")
    kubectl(*server, "use-context", "x")
    robot = Kubectl(config, tmp_path)

    assert "system:serviceaccount:default:robot" in robot("auth", "whoami")
    assert robot("auth", "can-i", "list", f"widgets.{GROUP}").strip() == "yes"
    assert robot.run("auth", "can-i", "delete", f"widgets.{GROUP}").stdout.strip() == "no"
    assert "No resources found" in robot.run("get", f"widgets.{GROUP}").stderr
    assert "Forbidden" in robot.run("get", "secrets").stderr
