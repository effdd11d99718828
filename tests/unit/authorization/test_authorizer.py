"""Authorizers and the Status of forbidden requests."""

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
from apiext.meta.request import ANONYMOUS, RequestInfo, UserInfo, authenticated

ANN = authenticated(UserInfo("ann"))
INFO = RequestInfo(path="/x", verb="get")


class _Fixed:
    def __init__(self, verdict: Verdict) -> None:
        self._verdict = verdict

    def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        return self._verdict


def test_allows_groups() -> None:
    """Allow system:masters, and authenticated users."""
    master = UserInfo("m", ("system:masters",))

    assert PrivilegedGroup().authorize(master, INFO) is ALLOWED
    assert PrivilegedGroup().authorize(ANN, INFO) is NO_OPINION
    assert Authenticated().authorize(ANN, INFO) is ALLOWED
    assert Authenticated().authorize(ANONYMOUS, INFO) is NO_OPINION


@pytest.mark.parametrize(
    "path, allowed",
    [("/healthz", True), ("/healthz/ping", False), ("/livez/ping", True), ("/livez/", True), ("/livez", False), ("/", False)],
)
def test_allows_paths(path: str, *, allowed: bool) -> None:
    """Allow a path itself, and with a star everything below it."""
    authorizer = AlwaysAllowPaths(["/healthz", "livez/*"])

    verdict = authorizer.authorize(ANONYMOUS, RequestInfo(path=path, verb="get"))

    assert (verdict is ALLOWED) is allowed


def test_allows_no_resource_by_path() -> None:
    """Leave requests for resources to other authorizers."""
    info = RequestInfo(is_resource=True, path="/healthz", verb="get")

    assert AlwaysAllowPaths(["/*"]).authorize(ANONYMOUS, info) is NO_OPINION


def test_union_returns_the_first_opinion() -> None:
    """Return the first opinion, or all reasons without one."""
    deny, unsure, other = Verdict(Decision.DENY, "no"), Verdict(Decision.NO_OPINION, "a"), Verdict(Decision.NO_OPINION, "b")

    assert Union([_Fixed(unsure), _Fixed(deny), _Fixed(ALLOWED)]).authorize(ANN, INFO) is deny
    assert Union([_Fixed(unsure), _Fixed(ALLOWED)]).authorize(ANN, INFO) is ALLOWED
    assert Union([_Fixed(unsure), _Fixed(other)]).authorize(ANN, INFO).reason == "a\nb"
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
def test_forbidden_message(info: RequestInfo, message: str) -> None:
    """Return the reference's message."""
    error = forbidden(ANN, info, "why")

    assert (error.code, error.reason, error.message) == (403, "Forbidden", message)


def test_adds_system_authenticated() -> None:
    """Add system:authenticated once to every user but the anonymous one."""
    assert authenticated(ANN) is ANN
    assert ANN.groups == ("system:authenticated",)
    assert authenticated(ANONYMOUS) is ANONYMOUS
