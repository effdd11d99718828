"""Authentication and authorization of clients behind a kube-apiserver."""

from collections.abc import Iterable
from contextlib import closing
from typing import Any

import pytest

from hack.lib.servers.caller import REFUSED, Answer, Caller
from hack.lib.servers.certificates import Authority
from tests.e2e.cluster import PLAIN, SERVED, Cluster, until
from tests.support.builders.crds import widgets_path

pytestmark = pytest.mark.slow
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts"
HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
VERSION_MAP = "/apiext/versions"


def _reading(*groups: str) -> list[dict[str, list[str]]]:
    return [{"apiGroups": list(groups), "resources": ["widgets"], "verbs": ["get", "list", "watch"]}]


def _codes(*callers: Caller) -> set[int]:
    """Return the codes of lists of the groups' objects by all callers."""
    return {caller.ask("GET", widgets_path(group))[0] for caller in callers for group in SERVED}


def _normalized(answer: Answer, group: str) -> Answer:
    """Return the Status of an answer, with the group of the plain definition in place of the group."""
    code, status = answer
    return code, str(status).replace(group, PLAIN)


def test_enforces_roles(cluster: Cluster, group: str) -> None:
    """Enforce the cluster's RBAC on both ways to apiext, with the Status of a definition of the reference."""
    user, widgets = f"ann-{group}", widgets_path(group)
    through, directly = cluster.through_host(user, "readers"), cluster.directly(user, "readers")
    cluster.grant(f"e2e-{user}", _reading(group, PLAIN), user)
    until(lambda: through.ask("GET", widgets)[0] == directly.ask("GET", widgets)[0] == 200)

    for method, path in (("POST", widgets), ("DELETE", f"{widgets}/a"), ("DELETE", widgets), ("PUT", f"{widgets}/a/status")):
        plain = through.ask(method, path.replace(group, PLAIN), {})
        assert plain[0] == 403
        assert (
            _normalized(through.ask(method, path, {}), group)
            == _normalized(directly.ask(method, path, {}), group)
            == _normalized(plain, group)
        )


def test_rejects_users_without_roles(cluster: Cluster, group: str) -> None:
    """Forbid users without a role everything, and clients without credentials all but the health endpoints."""
    bob, nobody = cluster.directly("bob"), Caller(cluster.apiext.url, cluster.authority.cert)

    said = 'widgets.{} is forbidden: User "{}" cannot list resource "widgets" in API group "{}" in the namespace "default"'
    assert bob.ask("GET", widgets_path(group))[1]["message"] == said.format(group, "bob", group)
    assert nobody.ask("GET", widgets_path(group))[1]["message"] == said.format(group, "system:anonymous", group)
    assert [nobody.ask("GET", path) for path in ("/healthz", "/livez", "/readyz")] == [(200, "ok")] * 3


def test_users_of_many_groups(cluster: Cluster, group: str) -> None:
    """Authorize a user by the last of 1,000 groups, which the host names in as many headers, with the answers of the reference."""
    name, last = f"e2e-many-{group}", f"group-999-{group}"
    api = "rbac.authorization.k8s.io"
    cluster.grant(name, _reading(group, PLAIN))
    subject = {"apiGroup": api, "kind": "Group", "name": last}
    role = {"apiGroup": api, "kind": "ClusterRole", "name": name}
    bindings = f"/apis/{api}/v1/clusterrolebindings"
    cluster.host.must("POST", bindings, {"metadata": {"name": f"{name}-group"}, "roleRef": role, "subjects": [subject]})
    groups = [f"group-{number}-of-a-directory-server" for number in range(999)]

    def codes(*named: str) -> list[int]:
        return [_as_member(cluster.host, path, named) for path in (widgets_path(group), widgets_path(PLAIN))]

    until(lambda: codes(last) == [200, 200])

    assert codes(*groups, last) == [200, 200]
    assert codes(*groups) == [403, 403]


def _as_member(caller: Caller, path: str, groups: Iterable[str]) -> int:
    """Return the code of a read as a user of groups, whom no role names."""
    with closing(caller.connect()) as connection:
        connection.putrequest("GET", path)
        connection.putheader("Impersonate-User", "member-of-many")
        for group in groups:
            connection.putheader("Impersonate-Group", group)
        connection.endheaders()
        return connection.getresponse().status


def test_accepts_service_account_tokens(cluster: Cluster) -> None:
    """Accept the cluster's tokens with the groups of their accounts at apiext itself, and reject others with 401."""
    cluster.host.must("POST", ACCOUNT, {"metadata": {"name": "robot"}})
    token = cluster.host.must("POST", f"{ACCOUNT}/robot/token", {"spec": {}})["status"]["token"]
    robot = Caller(cluster.apiext.url, cluster.authority.cert, token=token)
    through = Caller(cluster.plane.url, cluster.plane.ca, token=token)
    stranger = Caller(cluster.apiext.url, cluster.authority.cert, token=f"{token}x")

    assert _codes(robot, through) == {403}
    cluster.grant("e2e-robot", _reading(*SERVED), "system:serviceaccount:default:robot")
    until(lambda: _codes(robot, through) == {200})
    code, status = stranger.ask("GET", widgets_path(SERVED[0]))
    assert (code, status["message"]) == REFUSED
    cluster.host.must("DELETE", f"{ACCOUNT}/robot")
    until(lambda: _codes(robot, through) == {401})


def test_rejects_unknown_certificate_authorities(cluster: Cluster) -> None:
    """End the connection of a client certificate of an unknown authority."""
    stranger = Authority(cluster.apiext.folder / "stranger").issue("admin", groups=["system:masters"])

    with pytest.raises(OSError, match=r"(?i)unknown ca|reset|EOF|broken|closed"):
        Caller(cluster.apiext.url, cluster.authority.cert, stranger).ask("GET", widgets_path(SERVED[0]))


def _map_entry(caller: Caller, group: str) -> Any:
    """Return the entry of a group's definition on the version map."""
    found = caller.must("GET", f"{VERSION_MAP}/data")["definitions"]
    return next(entry for entry in found if entry["name"] == f"widgets.{group}")


def _without_names(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: member for key, member in entry.items() if key not in {"names", "hidden"}}


def test_opens_the_version_map_directly(cluster: Cluster, group: str) -> None:
    """Open the page at apiext's own address with credentials of the cluster and its roles; the host does not proxy it.

    Objects of the host, here a webhook configuration, are named only for those who may list them there.
    """
    rule = {"apiGroups": [group], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["widgets"]}
    hook = {"name": "map.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule], "failurePolicy": "Ignore"}
    hook |= {"objectSelector": {"matchLabels": {"map": "never"}}, "sideEffects": "None", "admissionReviewVersions": ["v1"]}
    cluster.host.must("POST", HOOKS, {"metadata": {"name": f"map.{group}"}, "webhooks": [hook]})
    name = f"map-{group.partition('.')[0]}"
    cluster.host.must("POST", ACCOUNT, {"metadata": {"name": name}})
    token = cluster.host.must("POST", f"{ACCOUNT}/{name}/token", {"spec": {}})["status"]["token"]
    page = {"nonResourceURLs": [VERSION_MAP, f"{VERSION_MAP}/*"], "verbs": ["get"]}
    cluster.grant(name, [page], name, f"system:serviceaccount:default:{name}")
    cluster.grant(f"{name}-hooks", [{"apiGroups": ["*"], "resources": ["mutatingwebhookconfigurations"], "verbs": ["list"]}], name)
    nobody, robot = (Caller(cluster.apiext.url, cluster.authority.cert, token=given) for given in ("", token))
    person = cluster.directly(name)

    until(lambda: "<title>" in str(person.ask("GET", VERSION_MAP)[1]))
    assert "<title>" in robot.must("GET", VERSION_MAP)
    assert [caller.ask("GET", VERSION_MAP)[0] for caller in (nobody, cluster.through_host(name))] == [403, 404]
    until(lambda: (_map_entry(person, group)["guards"] or {}).get("mutatingwebhookconfigurations") == 1)
    # the host's authorizer may learn of the role after the first question, and a denial is remembered
    until(lambda: f"map.{group}" in str(_map_entry(person, group)))
    hidden = _map_entry(robot, group)
    assert f"map.{group}" not in str(hidden)
    assert hidden["names"] == {}
    assert hidden["hidden"]["mutatingwebhookconfigurations"] == "mutatingwebhookconfigurations.admissionregistration.k8s.io"
    # what else is shown may change between two questions
    until(lambda: _without_names(_map_entry(robot, group)) == _without_names(_map_entry(person, group)))
    cluster.host.must("DELETE", f"{HOOKS}/map.{group}")
