"""Authorization by another server, as clients see it."""

import json

import pytest

from apiext.authorization.authorizer import (
    ALLOWED,
    NO_OPINION,
    AlwaysAllowPaths,
    Authenticated,
    Decision,
    PrivilegedGroup,
    ReviewError,
    Union,
    Verdict,
)
from apiext.authorization.modes import Modes
from apiext.filters.delegated_authorization import DelegatedAuthorization
from apiext.meta.request import RequestInfo, UserInfo
from apiext.meta.user import ANONYMOUS, authenticated
from tests.unit.filters.conftest import ADMIN, Make, hello

ANN = authenticated(UserInfo("ann"))
BEFORE = Union([PrivilegedGroup(), AlwaysAllowPaths(["/healthz"])])


class Says:
    """Another server that always says the same."""

    def __init__(self, answer: Verdict | ReviewError) -> None:
        self._answer = answer

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The verdict."""
        if isinstance(self._answer, ReviewError):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    "answer,code,message",
    [
        (ALLOWED, 200, ""),
        (NO_OPINION, 403, ""),
        (Verdict(Decision.NO_OPINION, "kubernetes.io/webhook: no rule"), 403, ": kubernetes.io/webhook: no rule"),
        (Verdict(Decision.DENY, "never"), 403, ": never"),
    ],
)
async def test_the_other_server_decides(exchange: Make, answer: Verdict, code: int, message: str) -> None:
    """Who may not is told so with the reason."""
    chain = DelegatedAuthorization(hello, modes=Modes(before=BEFORE, delegate=Says(answer), after=Union([])))

    done = await exchange("/apis/example.com/v1/widgets", user=ANN).through(chain)

    assert done.status == code
    if code == 403:
        refusal = (
            'widgets.example.com is forbidden: User "ann" cannot list resource "widgets" in API group "example.com" at the cluster scope'
        )
        assert json.loads(done.body)["message"] == refusal + message


async def test_some_are_never_asked_about(exchange: Make) -> None:
    """Masters and some paths get in while the other server is away; the rest gets 500 in the reference's words."""
    chain = DelegatedAuthorization(hello, modes=Modes(before=BEFORE, delegate=Says(ReviewError("no <route>")), after=Union([])))

    master = await exchange(user=ADMIN).through(chain)
    health = await exchange("/healthz", user=ANONYMOUS).through(chain)
    other = await exchange("/version", user=ANN).through(chain)

    assert (master.status, health.status, other.status) == (200, 200, 500)
    assert other.body == b'Internal Server Error: "/version": no &lt;route&gt;\n'


@pytest.mark.parametrize(
    "answer,code",
    [
        (NO_OPINION, 200),
        (ReviewError("away"), 200),
        (Verdict(Decision.DENY), 403),
        (ReviewError("both", denied=True), 500),
    ],
)
async def test_another_mode_follows(exchange: Make, answer: Verdict | ReviewError, code: int) -> None:
    """What the other server does not forbid, a later mode may allow."""
    chain = DelegatedAuthorization(hello, modes=Modes(before=BEFORE, delegate=Says(answer), after=Authenticated()))

    assert (await exchange(user=ANN).through(chain)).status == code
