"""Authentication of bearer tokens by several authenticators in their order.

Mirrors apiserver pkg/authentication/token/union and kubernetes pkg/kubeapiserver/authenticator.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.api.authentication.token_review import TokenReviewError
from apiext.base.meta.errors import StatusError
from apiext.base.meta.field import aggregate
from apiext.base.meta.log import get_logger
from apiext.base.meta.request import UserInfo, authenticated

if TYPE_CHECKING:
    from apiext.api.authentication.token_review import TokenReviews

_LOG: Final = get_logger(__name__)
_INVALID: Final = "invalid bearer token"


class TokenError(Exception):
    """A token is invalid. The message is the reason."""


class KeysError(TokenError):
    """The server's keys cannot be read, made or used. The message is the reason."""


class AudienceError(TokenError):
    """A token is valid, but for none of the wanted audiences."""


@dataclass(frozen=True, slots=True)
class AuthenticatedToken:
    """The user of a valid token."""

    user: UserInfo
    audiences: tuple[str, ...] = ()
    """Those of the wanted audiences for which the token is valid."""


TokenAuthenticator = Callable[[str, Sequence[str]], Awaitable[AuthenticatedToken | None]]
"""Returns the user of a token for audiences (none: those of the server), None for a token of another kind. Raises TokenError."""
Authenticate = Callable[[str, Sequence[str]], Awaitable[AuthenticatedToken]]
"""As TokenAuthenticator, but raises TokenError for every token without a user."""


def union(authenticators: Sequence[TokenAuthenticator]) -> Authenticate:
    """Return what tries authenticators until one knows the user. StatusErrors, of a store that does not answer, pass through."""

    async def authenticate(token: str, audiences: Sequence[str]) -> AuthenticatedToken:
        problems = [_INVALID]
        for known in authenticators:
            try:
                found = await known(token, audiences)
            except AudienceError:
                raise
            except TokenError as error:
                problems.append(str(error))
                continue
            except StatusError:
                raise
            except Exception:  # noqa: BLE001 -- a defect must not answer whoever sends a token with 500
                _LOG.exception("authentication failed")
                problems.append("internal error")
                continue
            if found is not None:
                return AuthenticatedToken(authenticated(found.user), found.audiences)
        raise TokenError(aggregate(problems))

    return authenticate


def reviewer(authenticate: Authenticate) -> Callable[[str], Awaitable[UserInfo | None]]:
    """Return what authenticates requests by their tokens.

    It raises TokenReviewError for an invalid token.
    """

    async def user(token: str) -> UserInfo | None:
        try:
            return (await authenticate(token, ())).user
        except TokenError as error:
            raise TokenReviewError(str(error)) from error

    return user


def static_tokens(tokens: Mapping[str, UserInfo], own_audiences: Sequence[str]) -> TokenAuthenticator:
    """Return what knows the tokens of `--token-auth-file`, which are valid for the server's audiences."""

    async def authenticate(token: str, audiences: Sequence[str]) -> AuthenticatedToken | None:
        user = tokens.get(token)
        valid = tuple(name for name in own_audiences if name in audiences) if audiences else tuple(own_audiences)
        return AuthenticatedToken(user, valid) if user is not None and (valid or not audiences) else None

    return authenticate


def reviewed_tokens(reviews: TokenReviews) -> TokenAuthenticator:
    """Return what asks another server for the user of a token."""

    async def authenticate(token: str, audiences: Sequence[str]) -> AuthenticatedToken | None:
        try:
            user = await reviews.user(token)
        except TokenReviewError as error:
            raise TokenError(str(error)) from error
        return AuthenticatedToken(user, tuple(audiences)) if user is not None else None

    return authenticate
