"""Who sends a request, where another server knows the tokens."""

import json

import pytest
from aiohttp import web

from apiext.authentication.token_review import TokenReviewError
from apiext.endpoints.request import USER
from apiext.endpoints.responsewriters.response import Reply
from apiext.filters.authentication import Authentication, Credentials
from apiext.filters.delegated_authentication import DelegatedAuthentication
from apiext.filters.error_rendering import ErrorRendering
from apiext.meta.request import Peer, UserInfo
from tests.support.captured_logs import logged
from tests.unit.filters.conftest import Make


async def _who(request: web.BaseRequest) -> web.StreamResponse:
    user = request[USER]
    return Reply(json.dumps([user.name, *user.groups]).encode())


class Reviewer:
    """Knows one token."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def user(self, token: str) -> UserInfo | None:
        """Whose it is."""
        self.asked.append(token)
        if token == "broken":
            raise TokenReviewError("no route")
        return UserInfo("ann", ("devs",)) if token == "known" else None


def _chain(reviewer: Reviewer, *, anonymous: bool = True) -> ErrorRendering:
    credentials = Credentials(anonymous=anonymous, tokens={"own": UserInfo("bob")})
    return ErrorRendering(DelegatedAuthentication(_who, credentials=credentials, reviewer=reviewer))


async def test_tokens(exchange: Make) -> None:
    """Own tokens come first; the other server's users are authenticated, too."""
    reviewer = Reviewer()
    chain = _chain(reviewer)

    found = [await exchange(user=None, headers={"Authorization": f"Bearer {token}"}).through(chain) for token in ("own", "known")]

    assert [json.loads(done.body) for done in found] == [["bob", "system:authenticated"], ["ann", "devs", "system:authenticated"]]
    assert reviewer.asked == ["known"]


@pytest.mark.parametrize("token,why", [("wrong", "invalid bearer token"), ("broken", "no route")])
async def test_refusals(exchange: Make, caplog: pytest.LogCaptureFixture, token: str, why: str) -> None:
    """A token of nobody is 401, and so is one that nobody could be asked about; the log tells why."""
    done = await exchange(user=None, headers={"Authorization": f"Bearer {token}"}).through(_chain(Reviewer()))

    assert (done.status, json.loads(done.body)["message"]) == (401, "Unauthorized")
    assert logged(caplog) == [{"event": "a token is nobody's", "error": why}]


async def test_without_tokens(exchange: Make) -> None:
    """Nobody is asked about certificates and anonymous requests."""
    reviewer = Reviewer()
    certified = await exchange(user=None, peer=Peer(user=UserInfo("carl"))).through(_chain(reviewer))
    anonymous = await exchange(user=None).through(_chain(reviewer))
    nobody = await exchange(user=None).through(_chain(reviewer, anonymous=False))

    assert [json.loads(done.body)[0] for done in (certified, anonymous)] == ["carl", "system:anonymous"]
    assert (nobody.status, reviewer.asked) == (401, [])


async def test_refused_certificates(exchange: Make) -> None:
    """A certificate of nobody who is let in is 401, unless a token comes along."""
    peer = Peer(is_refused=True)
    own = Authentication(_who, anonymous=True, tokens={"own": UserInfo("bob")})
    for chain in (ErrorRendering(own), _chain(Reviewer())):
        refused = await exchange(user=None, peer=peer).through(chain)
        named = await exchange(user=None, peer=peer, headers={"Authorization": "Bearer own"}).through(chain)

        assert refused.status == 401
        assert json.loads(named.body)[0] == "bob"
