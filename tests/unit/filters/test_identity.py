"""Who sends a request, and whether they may."""

import json
import time

import pytest
from aiohttp import web

from apiext.authentication.request_header import RequestHeaders
from apiext.authorization.authorizer import AlwaysAllowPaths, Authenticated, Union
from apiext.endpoints.request import USER
from apiext.endpoints.responsewriters.response import Reply
from apiext.filters.authentication import Authentication
from apiext.filters.authorization import Authorization
from apiext.filters.error_rendering import ErrorRendering
from apiext.filters.metrics import CertificateLives
from apiext.meta.request import Peer, UserInfo
from apiext.meta.user import ANONYMOUS
from tests.unit.filters.conftest import Make, hello

TOKENS = {"secret": UserInfo("ann", ("devs",), uid="7")}
PROXY = RequestHeaders(username=("X-Remote-User",), group=("X-Remote-Group",))


async def _who(request: web.BaseRequest) -> web.StreamResponse:
    user = request[USER]
    return Reply(json.dumps([user.name, *user.groups]).encode())


async def test_certificate_user(exchange: Make) -> None:
    """The user of the connection's certificate sends all of its requests, whatever token comes along."""
    peer = Peer(user=UserInfo("bob", ("system:authenticated",)))

    done = await exchange(peer=peer, user=None, headers={"Authorization": "Bearer wrong"}).through(Authentication(_who, anonymous=False))

    assert json.loads(done.body) == ["bob", "system:authenticated"]


async def test_token_user(exchange: Make) -> None:
    """A known token makes the user, and everyone who is known is authenticated."""
    chain = Authentication(_who, anonymous=True, tokens=TOKENS)

    done = await exchange(user=None, headers={"Authorization": "bearer secret"}).through(chain)

    assert json.loads(done.body) == ["ann", "devs", "system:authenticated"]


@pytest.mark.parametrize("header", ["Bearer wrong", "bearer secret2", "Bearer wrong secret"])
async def test_wrong_token(exchange: Make, header: str) -> None:
    """A wrong token is 401, also where anonymous requests get in."""
    chain = ErrorRendering(Authentication(_who, anonymous=True, tokens=TOKENS))

    done = await exchange(user=None, headers={"Authorization": header}).through(chain)

    status = json.loads(done.body)
    assert (done.status, status["reason"], status["message"]) == (401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}, {"Authorization": "Bearer  secret"}])
async def test_nobody(exchange: Make, headers: dict[str, str]) -> None:
    """Without credentials a request is anonymous, or 401 where nobody may be."""
    let_in = await exchange(user=None, headers=headers).through(Authentication(_who, anonymous=True))
    kept_out = await exchange(user=None, headers=headers).through(ErrorRendering(Authentication(_who, anonymous=False)))

    assert json.loads(let_in.body) == ["system:anonymous", "system:unauthenticated"]
    assert kept_out.status == 401


async def test_front_proxy(exchange: Make) -> None:
    """A front proxy names the user with headers; without them it is whom its certificate names."""
    chain = Authentication(_who, anonymous=False, front_proxy=PROXY)
    peer = Peer(user=UserInfo("proxy"), is_front_proxy=True)

    named = await exchange(user=None, peer=peer, headers={"x-remote-user": "eve", "X-Remote-Group": "g"}).through(chain)
    silent = await exchange(user=None, peer=peer).through(chain)

    assert json.loads(named.body) == ["eve", "g", "system:authenticated"]
    assert json.loads(silent.body) == ["proxy"]


@pytest.mark.parametrize("peer", [Peer(user=UserInfo("bob"), ends=1.0), Peer(is_front_proxy=True, ends=1.0)])
async def test_certificate_that_has_ended(exchange: Make, peer: Peer) -> None:
    """A certificate that ends during its connection is worth nothing from then on, nor are a proxy's headers; a token still is."""
    chain = ErrorRendering(Authentication(_who, anonymous=True, tokens=TOKENS, front_proxy=PROXY))

    refused = await exchange(user=None, peer=peer, headers={"X-Remote-User": "eve"}).through(chain)
    by_token = await exchange(user=None, peer=peer, headers={"Authorization": "Bearer secret"}).through(chain)

    assert refused.status == 401
    assert json.loads(by_token.body)[0] == "ann"


async def test_lives_of_certificates_are_counted(exchange: Make) -> None:
    """Requests by a certificate of their own are counted by what is left of it, those that a front proxy vouches for are not."""
    lives = CertificateLives()
    chain = Authentication(_who, anonymous=True, front_proxy=PROXY, lives=lives)
    ends = time.time() + 1000

    await exchange(user=None, peer=Peer(user=UserInfo("bob"), ends=ends)).through(chain)
    await exchange(user=None, peer=Peer(is_front_proxy=True, ends=ends), headers={"X-Remote-User": "eve"}).through(chain)
    await exchange(user=None).through(chain)

    assert [index for index, count in enumerate(lives.buckets) if count] == [1]
    assert 900 < lives.seconds <= 1000


async def test_headers_of_others_are_not_believed(exchange: Make) -> None:
    """Only a front proxy's headers count."""
    chain = Authentication(_who, anonymous=True, front_proxy=PROXY)

    done = await exchange(user=None, headers={"X-Remote-User": "eve"}).through(chain)

    assert json.loads(done.body)[0] == "system:anonymous"


async def test_refusal(exchange: Make) -> None:
    """Who may not is told so, in words that no browser takes for a page."""
    chain = Authorization(hello, authorizer=Union([Authenticated(), AlwaysAllowPaths(["/healthz"])]))

    refused = await exchange("/", user=ANONYMOUS).through(chain)
    allowed = await exchange("/healthz", user=ANONYMOUS).through(chain)
    known = await exchange("/").through(chain)

    assert (refused.status, allowed.status, known.status) == (403, 200, 200)
    assert refused.headers["X-Content-Type-Options"] == "nosniff"
    status = json.loads(refused.body)
    assert status["message"] == 'forbidden: User "system:anonymous" cannot get path "/"'
    assert (status["reason"], status["details"]) == ("Forbidden", {})
