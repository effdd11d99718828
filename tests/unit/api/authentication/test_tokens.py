"""Bearer tokens of several authenticators."""

from collections.abc import Sequence

import pytest

from apiext.api.authentication.token_review import TokenReviewError
from apiext.api.authentication.tokens import (
    AuthenticatedToken,
    TokenAuthenticator,
    TokenError,
    reviewer,
    static_tokens,
    union,
)
from apiext.base.meta.errors import StatusError, internal
from apiext.base.meta.request import UserInfo

ANN = UserInfo("ann", ("dev",))
STATIC = static_tokens({"t": ANN}, ["api", "other"])


def failing(text: str) -> TokenAuthenticator:
    """Return an authenticator that refuses every token."""

    async def authenticate(_token: str, _audiences: Sequence[str]) -> AuthenticatedToken | None:
        raise TokenError(text)

    return authenticate


async def test_tries_all_authenticators() -> None:
    """Return the first user, with system:authenticated; an error of another authenticator does not count then."""
    found = await union([failing("expired"), STATIC])("t", ())

    assert found.user == UserInfo("ann", ("dev", "system:authenticated"))
    assert found.audiences == ("api", "other")


async def test_joins_errors() -> None:
    """Name all errors of an invalid token as the reference does."""
    authenticators: list[TokenAuthenticator] = []
    authenticate = union(authenticators)
    with pytest.raises(TokenError, match=r"^invalid bearer token$"):
        await authenticate("x", ())

    # a later authenticator counts, too
    authenticators += [STATIC, failing("service account token has expired")]

    with pytest.raises(TokenError, match=r"^\[invalid bearer token, service account token has expired\]$"):
        await authenticate("x", ())
    with pytest.raises(TokenReviewError, match="expired"):
        await reviewer(authenticate)("x")


async def test_goes_on_after_a_defect() -> None:
    """Ask the other authenticators after a defect of one; pass on the error of a store that does not answer."""

    def raising(error: Exception) -> TokenAuthenticator:
        async def authenticate(_token: str, _audiences: Sequence[str]) -> AuthenticatedToken | None:
            raise error

        return authenticate

    assert (await union([raising(OSError("disk")), STATIC])("t", ())).user.name == "ann"
    with pytest.raises(TokenError, match=r"^\[invalid bearer token, internal error\]$"):
        await union([raising(KeyError("x")), STATIC])("x", ())
    with pytest.raises(StatusError, match="etcd"):
        await union([raising(internal("etcd")), STATIC])("t", ())


@pytest.mark.parametrize("audiences, valid", [([], ("api", "other")), (["other", "x"], ("other",)), (["x"], None)])
async def test_static_tokens_are_valid_for_own_audiences(audiences: list[str], valid: tuple[str, ...] | None) -> None:
    """Accept static tokens for the audiences of the server only."""
    found = await STATIC("t", audiences)

    assert (found.audiences if found else None) == valid
    assert await STATIC("u", audiences) is None
