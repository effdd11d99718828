"""Authorization rules and the Status of forbidden requests."""

import pytest

from apiext.api.authorization.authorizer import (
    ALLOWED,
    NO_OPINION,
    AuthorizationModes,
    Decide,
    Decision,
    Verdict,
    always_allow_paths,
    is_authenticated,
    is_master,
)
from apiext.api.authorization.forbidden import forbidden
from apiext.base.meta.request import ANONYMOUS, RequestInfo, UserInfo, authenticated

ANN = authenticated(UserInfo("ann"))
INFO = RequestInfo(path="/x", verb="get")


def test_allows_groups() -> None:
    """Allow system:masters, and authenticated users."""
    master = UserInfo("m", ("system:masters",))

    assert is_master(master, INFO) is ALLOWED
    assert is_master(ANN, INFO) is NO_OPINION
    assert is_authenticated(ANN, INFO) is ALLOWED
    assert is_authenticated(ANONYMOUS, INFO) is NO_OPINION


@pytest.mark.parametrize(
    "path, allowed",
    [("/healthz", True), ("/healthz/ping", False), ("/livez/ping", True), ("/livez/", True), ("/livez", False), ("/", False)],
)
def test_allows_paths(path: str, *, allowed: bool) -> None:
    """Allow a path itself, and with a star everything below it."""
    allows = always_allow_paths(["/healthz", "livez/*"])

    assert (allows(ANONYMOUS, RequestInfo(path=path, verb="get")) is ALLOWED) is allowed


def test_allows_no_resource_by_path() -> None:
    """Leave requests for resources to other rules."""
    info = RequestInfo(is_resource=True, path="/healthz", verb="get")

    assert always_allow_paths(["/*"])(ANONYMOUS, info) is NO_OPINION


async def test_joins_reasons_of_all_modes() -> None:
    """Return the reasons of all modes, in order, if none decides."""

    def undecided(reason: str) -> Decide:
        return lambda _user, _info: Verdict(Decision.NO_OPINION, reason)

    async def delegate(_user: UserInfo, _info: RequestInfo) -> Verdict:
        return Verdict(Decision.NO_OPINION, "webhook")

    modes = AuthorizationModes(before=[undecided("a"), undecided(""), undecided("b")], delegate=delegate, after=[undecided("c")])

    assert modes.authorize_here(ANN, INFO) == Verdict(Decision.NO_OPINION, "a\nb")
    assert await modes.authorize(ANN, INFO) == Verdict(Decision.NO_OPINION, "a\nb\nwebhook\nc")


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
