"""Authorization by another server."""

import json
from dataclasses import replace

import pytest

from apiext.api.authorization.authorizer import (
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
from apiext.api.endpoints.request import AUTHORIZE, INFO, PROXIED_USER
from apiext.api.filters.authorization import Authorization
from apiext.base.meta.request import ANONYMOUS, RequestInfo, UserInfo, authenticated
from tests.unit.api.filters.conftest import ADMIN, Make, hello

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


async def test_takes_proxied_requests_as_authorized(exchange: Make) -> None:
    """Allow a request of the proxied user that the host has authorized; review further questions, other users and other requests."""
    asked: list[str] = []

    async def denying(user: UserInfo, info: RequestInfo) -> Verdict:
        asked.append(f"{user.name} {info.verb} {info.resource}")
        return NO_OPINION

    modes = AuthorizationModes(before=BEFORE, delegate=denying)
    chain = Authorization(hello, modes=modes, authorized_by_host=lambda info: info.resource == "widgets")
    path = "/apis/example.com/v1/namespaces/ns"

    codes = []
    for name, proxied in (("widgets", ANN), ("secrets", ANN), ("widgets", replace(ANN, name="eve")), ("widgets", None)):
        sent = exchange(f"{path}/{name}/a", method="PUT", user=ANN)
        if proxied is not None:
            sent.request[PROXIED_USER] = proxied
        codes.append((await sent.through(chain)).status)
        if codes == [200]:
            assert await sent.request[AUTHORIZE](ANN, replace(sent.request[INFO], verb="create")) is NO_OPINION

    assert codes == [200, 403, 403, 403]
    assert asked == ["ann create widgets", "ann update secrets", "ann update widgets", "ann update widgets"]
