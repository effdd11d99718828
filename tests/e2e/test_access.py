"""Who gets in behind a kube-apiserver, and what they may do there."""

import pytest

from hack.lib.servers.caller import REFUSED, Answer, Caller
from hack.lib.servers.certificates import Authority
from tests.e2e.cluster import PLAIN, SERVED, Cluster, until

pytestmark = pytest.mark.slow
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts"


def _widgets(group: str) -> str:
    return f"/apis/{group}/v1/namespaces/default/widgets"


def _reading(*groups: str) -> list[dict[str, list[str]]]:
    return [{"apiGroups": list(groups), "resources": ["widgets"], "verbs": ["get", "list", "watch"]}]


def _codes(*callers: Caller) -> set[int]:
    """How they all are answered who list the groups' objects."""
    return {caller.ask("GET", _widgets(group))[0] for caller in callers for group in SERVED}


def _told(answer: Answer, group: str) -> Answer:
    """What a Status says, with the group of the plain definition in place of the other."""
    code, status = answer
    return code, str(status).replace(group, PLAIN)


def test_roles_hold(cluster: Cluster, group: str) -> None:
    """RBAC of the cluster decides, whichever way a user comes; refusals are the reference's for a definition of its own."""
    user, widgets = f"ann-{group}", _widgets(group)
    through, directly = cluster.through_host(user, "readers"), cluster.directly(user, "readers")
    cluster.grant(f"e2e-{user}", _reading(group, PLAIN), user)
    until(lambda: through.ask("GET", widgets)[0] == directly.ask("GET", widgets)[0] == 200)

    for method, path in (("POST", widgets), ("DELETE", f"{widgets}/a"), ("DELETE", widgets), ("PUT", f"{widgets}/a/status")):
        plain = through.ask(method, path.replace(group, PLAIN), {})
        assert plain[0] == 403
        assert _told(through.ask(method, path, {}), group) == _told(directly.ask(method, path, {}), group) == _told(plain, group)


def test_users_of_nothing(cluster: Cluster, group: str) -> None:
    """Who has no role gets nowhere, and who shows no credentials no further than the health endpoints."""
    bob, nobody = cluster.directly("bob"), Caller(cluster.apiext.url, cluster.authority.cert)

    said = 'widgets.{} is forbidden: User "{}" cannot list resource "widgets" in API group "{}" in the namespace "default"'
    assert bob.ask("GET", _widgets(group))[1]["message"] == said.format(group, "bob", group)
    assert nobody.ask("GET", _widgets(group))[1]["message"] == said.format(group, "system:anonymous", group)
    assert [nobody.ask("GET", path) for path in ("/healthz", "/livez", "/readyz")] == [(200, "ok")] * 3


def test_tokens_of_service_accounts(cluster: Cluster) -> None:
    """The cluster's tokens are good at apiext itself as through the cluster, with the groups of their account; others are 401."""
    cluster.host.must("POST", ACCOUNT, {"metadata": {"name": "robot"}})
    token = cluster.host.must("POST", f"{ACCOUNT}/robot/token", {"spec": {}})["status"]["token"]
    robot = Caller(cluster.apiext.url, cluster.authority.cert, token=token)
    through = Caller(cluster.plane.url, cluster.plane.ca, token=token)
    stranger = Caller(cluster.apiext.url, cluster.authority.cert, token=f"{token}x")

    assert _codes(robot, through) == {403}
    cluster.grant("e2e-robot", _reading(*SERVED), "system:serviceaccount:default:robot")
    until(lambda: _codes(robot, through) == {200})
    code, status = stranger.ask("GET", _widgets(SERVED[0]))
    assert (code, status["message"]) == REFUSED
    cluster.host.must("DELETE", f"{ACCOUNT}/robot")
    until(lambda: _codes(robot, through) == {401})


def test_certificates_of_strangers(cluster: Cluster) -> None:
    """A certificate of an authority that nobody believes ends the connection."""
    stranger = Authority(cluster.apiext.folder / "stranger").issue("admin", groups=["system:masters"])

    with pytest.raises(OSError, match=r"(?i)unknown ca|reset|EOF|broken|closed"):
        Caller(cluster.apiext.url, cluster.authority.cert, stranger).ask("GET", _widgets(SERVED[0]))
