"""Who may do what."""

import pytest

from apiext.authorization.authorizer import (
    ALLOWED,
    NO_OPINION,
    AlwaysAllowPaths,
    Authenticated,
    Decision,
    PrivilegedGroup,
    Union,
    Verdict,
)
from apiext.authorization.forbidden import forbidden
from apiext.meta.request import RequestInfo, UserInfo
from apiext.meta.user import ANONYMOUS, authenticated

ANN = authenticated(UserInfo("ann"))
INFO = RequestInfo(path="/x", verb="get")


class _Says:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        return self._verdict


def test_groups() -> None:
    """Masters may everything; so may everyone who is known, where that is the rule."""
    master = UserInfo("m", ("system:masters",))

    assert PrivilegedGroup().authorize(master, INFO) is ALLOWED
    assert PrivilegedGroup().authorize(ANN, INFO) is NO_OPINION
    assert Authenticated().authorize(ANN, INFO) is ALLOWED
    assert Authenticated().authorize(ANONYMOUS, INFO) is NO_OPINION


@pytest.mark.parametrize(
    "path, allowed",
    [("/healthz", True), ("/healthz/ping", False), ("/livez/ping", True), ("/livez/", True), ("/livez", False), ("/", False)],
)
def test_paths(path: str, *, allowed: bool) -> None:
    """A path is open itself, or with a star all that is below it."""
    authorizer = AlwaysAllowPaths(["/healthz", "livez/*"])

    verdict = authorizer.authorize(ANONYMOUS, RequestInfo(path=path, verb="get"))

    assert (verdict is ALLOWED) is allowed


def test_a_resource_is_no_path() -> None:
    """An open path opens no resource."""
    info = RequestInfo(is_resource=True, path="/healthz", verb="get")

    assert AlwaysAllowPaths(["/*"]).authorize(ANONYMOUS, info) is NO_OPINION


def test_the_first_opinion_counts() -> None:
    """Authorizers are asked in order; where nobody has an opinion all reasons are given."""
    deny, unsure, other = Verdict(Decision.DENY, "no"), Verdict(Decision.NO_OPINION, "a"), Verdict(Decision.NO_OPINION, "b")

    assert Union([_Says(unsure), _Says(deny), _Says(ALLOWED)]).authorize(ANN, INFO) is deny
    assert Union([_Says(unsure), _Says(ALLOWED)]).authorize(ANN, INFO) is ALLOWED
    assert Union([_Says(unsure), _Says(other)]).authorize(ANN, INFO).reason == "a\nb"
    assert Union([]).authorize(ANN, INFO) is NO_OPINION


@pytest.mark.parametrize(
    "info, message",
    [
        (RequestInfo(path="/<x>", verb="get"), 'forbidden: User "ann" cannot get path "/&lt;x&gt;": why'),
        (
            RequestInfo(is_resource=True, verb="list", group="g.io", resource="ws", namespace="n"),
            'ws.g.io is forbidden: User "ann" cannot list resource "ws" in API group "g.io" in the namespace "n": why',
        ),
        (
            RequestInfo(is_resource=True, verb="update", resource="ws", subresource="status", name="a"),
            'ws "a" is forbidden: User "ann" cannot update resource "ws/status" in API group "" at the cluster scope: why',
        ),
    ],
)
def test_refusals(info: RequestInfo, message: str) -> None:
    """A refusal is in the reference's words."""
    error = forbidden(ANN, info, "why")

    assert (error.code, error.reason, error.message) == (403, "Forbidden", message)


def test_who_is_authenticated() -> None:
    """Every known user is in the group of those, once; the anonymous one is not."""
    assert authenticated(ANN) is ANN
    assert ANN.groups == ("system:authenticated",)
    assert authenticated(ANONYMOUS) is ANONYMOUS
