"""Authentication and authorization of requests."""

import json
import time

import pytest

from apiext.api.authentication.request_header import FrontProxyUsers, RequestHeaders
from apiext.api.authorization.authorizer import AuthorizationModes, always_allow_paths, is_authenticated
from apiext.api.filters.authentication import Authentication
from apiext.api.filters.authorization import Authorization
from apiext.api.filters.failures import ErrorRendering
from apiext.api.filters.metrics import CertificateExpirations
from apiext.base.meta.request import ANONYMOUS, Peer, UserInfo
from tests.unit.api.filters.conftest import Make, hello, who

TOKENS = {"secret": UserInfo("ann", ("devs",), uid="7")}
PROXY = FrontProxyUsers(RequestHeaders(username=("X-Remote-User",), group=("X-Remote-Group",))).user


async def test_authenticates_by_certificate(exchange: Make) -> None:
    """Use the user of the connection's certificate, and ignore a token."""
    peer = Peer(user=UserInfo("bob", ("system:authenticated",)))

    done = await exchange(peer=peer, user=None, headers={"Authorization": "Bearer wrong"}).through(Authentication(who, anonymous=False))

    assert json.loads(done.body) == ["bob", "system:authenticated"]


async def test_authenticates_by_token(exchange: Make) -> None:
    """Use the user of a static token, and add the group system:authenticated."""
    chain = Authentication(who, anonymous=True, tokens=TOKENS)

    done = await exchange(user=None, headers={"Authorization": "bearer secret"}).through(chain)

    assert json.loads(done.body) == ["ann", "devs", "system:authenticated"]


@pytest.mark.parametrize("header", ["Bearer wrong", "bearer secret2", "Bearer wrong secret"])
async def test_rejects_unknown_tokens(exchange: Make, header: str) -> None:
    """Return 401 for an unknown token even if anonymous requests are enabled."""
    chain = ErrorRendering(Authentication(who, anonymous=True, tokens=TOKENS))

    done = await exchange(user=None, headers={"Authorization": header}).through(chain)

    status = json.loads(done.body)
    assert (done.status, status["reason"], status["message"]) == (401, "Unauthorized", "Unauthorized")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Basic eDp5"}, {"Authorization": "Bearer"}, {"Authorization": "Bearer  secret"}])
async def test_requests_without_credentials(exchange: Make, headers: dict[str, str]) -> None:
    """Use system:anonymous without credentials, or return 401 if anonymous requests are disabled."""
    let_in = await exchange(user=None, headers=headers).through(Authentication(who, anonymous=True))
    kept_out = await exchange(user=None, headers=headers).through(ErrorRendering(Authentication(who, anonymous=False)))

    assert json.loads(let_in.body) == ["system:anonymous", "system:unauthenticated"]
    assert kept_out.status == 401


async def test_authenticates_by_front_proxy(exchange: Make) -> None:
    """Use the user in the headers of a front proxy, else the user of its certificate."""
    chain = Authentication(who, anonymous=False, front_proxy=PROXY)
    peer = Peer(user=UserInfo("proxy"), is_front_proxy=True)

    named = await exchange(user=None, peer=peer, headers={"x-remote-user": "eve", "X-Remote-Group": "g"}).through(chain)
    silent = await exchange(user=None, peer=peer).through(chain)

    assert json.loads(named.body) == ["eve", "g", "system:authenticated"]
    assert json.loads(silent.body) == ["proxy"]


@pytest.mark.parametrize("peer", [Peer(user=UserInfo("bob"), ends=1.0), Peer(is_front_proxy=True, ends=1.0)])
async def test_rejects_expired_certificates(exchange: Make, peer: Peer) -> None:
    """Reject a certificate, and the headers of its proxy, once it expires on an open connection; accept a token."""
    chain = ErrorRendering(Authentication(who, anonymous=True, tokens=TOKENS, front_proxy=PROXY))

    refused = await exchange(user=None, peer=peer, headers={"X-Remote-User": "eve"}).through(chain)
    by_token = await exchange(user=None, peer=peer, headers={"Authorization": "Bearer secret"}).through(chain)

    assert refused.status == 401
    assert json.loads(by_token.body)[0] == "ann"


async def test_counts_certificate_expirations(exchange: Make) -> None:
    """Count the remaining validity of client certificates, but not of front proxies that name a user."""
    expirations = CertificateExpirations()
    chain = Authentication(who, anonymous=True, front_proxy=PROXY, expirations=expirations)
    ends = time.time() + 1000

    await exchange(user=None, peer=Peer(user=UserInfo("bob"), ends=ends)).through(chain)
    await exchange(user=None, peer=Peer(is_front_proxy=True, ends=ends), headers={"X-Remote-User": "eve"}).through(chain)
    await exchange(user=None).through(chain)

    assert [index for index, count in enumerate(expirations.buckets) if count] == [1]
    assert 900 < expirations.seconds <= 1000


async def test_ignores_headers_of_other_clients(exchange: Make) -> None:
    """Ignore X-Remote-User of a client that is not a front proxy."""
    chain = Authentication(who, anonymous=True, front_proxy=PROXY)

    done = await exchange(user=None, headers={"X-Remote-User": "eve"}).through(chain)

    assert json.loads(done.body)[0] == "system:anonymous"


async def test_returns_403(exchange: Make) -> None:
    """Return 403 with a message that browsers do not render."""
    chain = Authorization(hello, modes=AuthorizationModes(before=[is_authenticated, always_allow_paths(["/healthz"])]))

    refused = await exchange("/", user=ANONYMOUS).through(chain)
    allowed = await exchange("/healthz", user=ANONYMOUS).through(chain)
    known = await exchange("/").through(chain)

    assert (refused.status, allowed.status, known.status) == (403, 200, 200)
    assert refused.headers["X-Content-Type-Options"] == "nosniff"
    status = json.loads(refused.body)
    assert status["message"] == 'forbidden: User "system:anonymous" cannot get path "/"'
    assert (status["reason"], status["details"]) == ("Forbidden", {})
