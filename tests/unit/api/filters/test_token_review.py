"""Authentication with a token reviewer."""

import json

import pytest

from apiext.api.authentication.token_review import TokenReviewError
from apiext.api.filters.authentication import Authentication
from apiext.api.filters.failures import ErrorRendering, PanicRecovery
from apiext.base.meta import errors
from apiext.base.meta.request import Peer, UserInfo
from tests.support.captured_logs import logged
from tests.unit.api.filters.conftest import Make, who


class Reviewer:
    """Authenticates one token, and fails for another."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def user(self, token: str) -> UserInfo | None:
        """Return the user of the token."""
        self.asked.append(token)
        if token == "broken":
            raise TokenReviewError("no route")
        return UserInfo("ann", ("devs",)) if token == "known" else None


def _chain(reviewer: Reviewer, *, anonymous: bool = True) -> ErrorRendering:
    return ErrorRendering(Authentication(who, anonymous=anonymous, tokens={"own": UserInfo("bob")}, reviewer=reviewer.user))


async def test_prefers_static_tokens(exchange: Make) -> None:
    """Ask the reviewer about unknown tokens only, and put its users in system:authenticated."""
    reviewer = Reviewer()
    chain = _chain(reviewer)

    found = [await exchange(user=None, headers={"Authorization": f"Bearer {token}"}).through(chain) for token in ("own", "known")]

    assert [json.loads(done.body) for done in found] == [["bob", "system:authenticated"], ["ann", "devs", "system:authenticated"]]
    assert reviewer.asked == ["known"]


@pytest.mark.parametrize("token,why", [("wrong", "invalid bearer token"), ("broken", "no route")])
async def test_rejects_tokens(exchange: Make, caplog: pytest.LogCaptureFixture, token: str, why: str) -> None:
    """Return 401 and log the reason for an unknown token, and for a failed review."""
    done = await exchange(user=None, headers={"Authorization": f"Bearer {token}"}).through(_chain(Reviewer()))

    assert (done.status, json.loads(done.body)["message"]) == (401, "Unauthorized")
    assert logged(caplog) == [{"event": "bearer token rejected", "error": why}]


@pytest.mark.parametrize("error", [OSError("disk"), KeyError("x"), ValueError("x"), RecursionError(), TimeoutError(), AssertionError()])
@pytest.mark.parametrize("place", ["reviewer", "front proxy"])
async def test_defects_answer_401(exchange: Make, caplog: pytest.LogCaptureFixture, error: Exception, place: str) -> None:
    """Return 401 and log the error, never "panic", whatever fails while a client is authenticated."""

    def fail(*_arguments: object) -> UserInfo | None:
        raise error

    async def review(_token: str) -> UserInfo | None:
        return fail()

    if place == "reviewer":
        chain, peer = Authentication(who, anonymous=True, reviewer=review), None
    else:
        chain, peer = Authentication(who, anonymous=True, front_proxy=fail), Peer(is_front_proxy=True)

    done = await exchange(user=None, peer=peer, headers={"Authorization": "Bearer a.b.c"}).through(PanicRecovery(ErrorRendering(chain)))

    assert (done.status, json.loads(done.body)["message"]) == (401, "Unauthorized")
    assert [line["event"] for line in logged(caplog)] == ["authentication failed"]


async def test_store_outages_answer_500(exchange: Make) -> None:
    """Return the Status of a store that does not answer: the token may be valid."""

    async def review(_token: str) -> UserInfo | None:
        raise errors.internal("etcd is away")

    chain = PanicRecovery(ErrorRendering(Authentication(who, anonymous=True, reviewer=review)))

    done = await exchange(user=None, headers={"Authorization": "Bearer a.b.c"}).through(chain)

    assert (done.status, json.loads(done.body)["message"]) == (500, "Internal error occurred: etcd is away")


async def test_does_not_review_other_credentials(exchange: Make) -> None:
    """Ask the reviewer neither about certificates nor about anonymous requests."""
    reviewer = Reviewer()
    certified = await exchange(user=None, peer=Peer(user=UserInfo("carl"))).through(_chain(reviewer))
    anonymous = await exchange(user=None).through(_chain(reviewer))
    refused = await exchange(user=None).through(_chain(reviewer, anonymous=False))

    assert [json.loads(done.body)[0] for done in (certified, anonymous)] == ["carl", "system:anonymous"]
    assert (refused.status, reviewer.asked) == (401, [])


async def test_accepts_a_token_beside_a_refused_certificate(exchange: Make) -> None:
    """Return 401 for an unknown certificate, unless a valid token comes with it."""
    peer = Peer(is_refused=True)
    own = Authentication(who, anonymous=True, tokens={"own": UserInfo("bob")})
    for chain in (ErrorRendering(own), _chain(Reviewer())):
        refused = await exchange(user=None, peer=peer).through(chain)
        named = await exchange(user=None, peer=peer, headers={"Authorization": "Bearer own"}).through(chain)

        assert refused.status == 401
        assert json.loads(named.body)[0] == "bob"
