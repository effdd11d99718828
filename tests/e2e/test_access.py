"""Who gets in behind a kube-apiserver, and what they may do there."""

import pytest

from tests.e2e.cluster import GROUP, PLAIN, Cluster, until
from tests.support.caller import REFUSED, Answer, Caller
from tests.support.certificates import Authority

pytestmark = pytest.mark.slow
WIDGETS = f"/apis/{GROUP}/v1/namespaces/default/widgets"
ACCOUNT = "/api/v1/namespaces/default/serviceaccounts"


def _reading(*groups: str) -> list[dict[str, list[str]]]:
    return [{"apiGroups": list(groups), "resources": ["widgets"], "verbs": ["get", "list", "watch"]}]


def _may_read(caller: Caller) -> bool:
    return caller.ask("GET", WIDGETS)[0] == 200


def _told(answer: Answer) -> Answer:
    """What a Status says, with the group of the plain definition in place of the other."""
    code, status = answer
    return code, str(status).replace(GROUP, PLAIN)


def test_roles_hold(cluster: Cluster) -> None:
    """RBAC of the cluster decides, whichever way a user comes; refusals are the reference's for a definition of its own."""
    through, directly = cluster.through_host("ann", "readers"), cluster.directly("ann", "readers")
    cluster.grant("e2e-ann", _reading(GROUP, PLAIN), "ann")
    until(lambda: _may_read(through) and _may_read(directly))

    for method, path in (("POST", WIDGETS), ("DELETE", f"{WIDGETS}/a"), ("DELETE", WIDGETS), ("PUT", f"{WIDGETS}/a/status")):
        plain = through.ask(method, path.replace(GROUP, PLAIN), {})
        assert plain[0] == 403
        assert _told(through.ask(method, path, {})) == _told(directly.ask(method, path, {})) == _told(plain)


def test_users_of_nothing(cluster: Cluster) -> None:
    """Who has no role gets nowhere, and who shows no credentials no further than the health endpoints."""
    bob, nobody = cluster.directly("bob"), Caller(cluster.apiext.url, cluster.authority.cert)

    said = 'widgets.{} is forbidden: User "{}" cannot list resource "widgets" in API group "{}" in the namespace "default"'
    assert bob.ask("GET", WIDGETS)[1]["message"] == said.format(GROUP, "bob", GROUP)
    assert nobody.ask("GET", WIDGETS)[1]["message"] == said.format(GROUP, "system:anonymous", GROUP)
    assert [nobody.ask("GET", path) for path in ("/healthz", "/livez", "/readyz")] == [(200, "ok")] * 3


def test_tokens_of_service_accounts(cluster: Cluster) -> None:
    """The cluster's tokens are good at apiext itself, with the groups of their account; others are 401."""
    cluster.host.must("POST", ACCOUNT, {"metadata": {"name": "robot"}})
    token = cluster.host.must("POST", f"{ACCOUNT}/robot/token", {"spec": {}})["status"]["token"]
    robot = Caller(cluster.apiext.url, cluster.authority.cert, token=token)
    stranger = Caller(cluster.apiext.url, cluster.authority.cert, token=f"{token}x")

    assert robot.ask("GET", WIDGETS)[0] == 403
    cluster.grant("e2e-robot", _reading(GROUP), "system:serviceaccount:default:robot")
    until(lambda: _may_read(robot))
    code, status = stranger.ask("GET", WIDGETS)
    assert (code, status["message"]) == REFUSED
    cluster.host.must("DELETE", f"{ACCOUNT}/robot")
    until(lambda: robot.ask("GET", WIDGETS)[0] == 401)


def test_certificates_of_strangers(cluster: Cluster) -> None:
    """A certificate of an authority that nobody believes ends the connection."""
    stranger = Authority(cluster.apiext.folder / "stranger").issue("admin", groups=["system:masters"])

    with pytest.raises(OSError, match=r"(?i)unknown ca|reset|EOF|broken|closed"):
        Caller(cluster.apiext.url, cluster.authority.cert, stranger).ask("GET", WIDGETS)
