"""Authorization by another server."""

import json

import pytest

from apiext.authorization.authorizer import (
    ALLOWED,
    NO_OPINION,
    AuthorizationModes,
    Authorize,
    Decision,
    ReviewError,
    Verdict,
    always_allow_paths,
    is_authenticated,
    is_master,
)
from apiext.filters.authorization import Authorization
from apiext.meta.request import ANONYMOUS, RequestInfo, UserInfo, authenticated
from tests.unit.filters.conftest import ADMIN, Make, hello

ANN = authenticated(UserInfo("ann"))
BEFORE = [is_master, always_allow_paths(["/healthz"])]


def _answering(answer: Verdict | ReviewError) -> Authorize:
    async def authorize(_user: UserInfo, _info: RequestInfo) -> Verdict:
        if isinstance(answer, ReviewError):
            raise answer
        return answer

    return authorize


@pytest.mark.parametrize(
    "answer,code,message",
    [
        (ALLOWED, 200, ""),
        (NO_OPINION, 403, ""),
        (Verdict(Decision.NO_OPINION, "kubernetes.io/webhook: no rule"), 403, ": kubernetes.io/webhook: no rule"),
        (Verdict(Decision.DENY, "never"), 403, ": never"),
    ],
)
async def test_returns_403_with_the_reason(exchange: Make, answer: Verdict, code: int, message: str) -> None:
    """Return 403 with the reason if the other server denies the request."""
    chain = Authorization(hello, modes=AuthorizationModes(before=BEFORE, delegate=_answering(answer)))

    done = await exchange("/apis/example.com/v1/widgets", user=ANN).through(chain)

    assert done.status == code
    if code == 403:
        refusal = (
            'widgets.example.com is forbidden: User "ann" cannot list resource "widgets" in API group "example.com" at the cluster scope'
        )
        assert json.loads(done.body)["message"] == refusal + message


async def test_allows_masters_without_the_other_server(exchange: Make) -> None:
    """Allow masters and the exempt paths while the other server is unavailable; return the reference's 500 to others."""
    chain = Authorization(hello, modes=AuthorizationModes(before=BEFORE, delegate=_answering(ReviewError("no <route>"))))

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
async def test_tries_the_next_mode(exchange: Make, answer: Verdict | ReviewError, code: int) -> None:
    """Let a later mode allow what the other server does not deny."""
    chain = Authorization(hello, modes=AuthorizationModes(before=BEFORE, delegate=_answering(answer), after=[is_authenticated]))

    assert (await exchange(user=ANN).through(chain)).status == code
