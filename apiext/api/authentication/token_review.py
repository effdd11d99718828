"""TokenReviews of another server, cached.

Mirrors apiserver plugin/pkg/authenticator/token/webhook and pkg/authentication/token/cache.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.log import get_logger
from apiext.base.meta.request import UserInfo
from apiext.base.webhook.client import Post, WebhookError
from apiext.base.webhook.response_cache import ResponseCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PATH: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
TIMEOUT: Final = 10.0
"""Seconds for all attempts to review one token."""
_LOG: Final = get_logger(__name__)
_MAX_ENTRIES: Final = 32_768
"""Cached reviews."""


class TokenReviewError(Exception):
    """A review reports an error, or failed; the message has the reason."""


class TokenReviews:
    """Reviews tokens; concurrent requests with the same token share one review.

    Results are cached for `ttl` seconds, including failed authentications; errors are not cached.
    With `audiences`, a token must be valid for one of them.
    """

    def __init__(self, post: Post, *, ttl: float, audiences: Sequence[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self._post = post
        self._ttl = ttl
        self._audiences = list(audiences)
        self._cache: ResponseCache[UserInfo | None] = ResponseCache(max_entries=_MAX_ENTRIES, clock=clock)
        self._secret = secrets.token_bytes(32)

    async def user(self, token: str) -> UserInfo | None:
        """Return the user of a token, None for an unauthenticated token.

        Raises:
            TokenReviewError: the review reports an error, or failed.
        """
        # a keyed hash keeps tokens out of memory, and prevents clients from choosing cache keys
        data = token.encode("utf-8", "surrogateescape")
        key = hashlib.blake2b(data, key=self._secret, digest_size=32).digest()
        # JSON must be able to hold a token that is not UTF-8, which is never valid
        return await self._cache.get(key, lambda: self._review(data.decode(errors="replace")))

    async def _review(self, token: str) -> tuple[UserInfo | None, float]:
        spec: dict[str, Any] = {"token": token}
        if self._audiences:
            spec["audiences"] = self._audiences
        body = {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {}, "spec": spec, "status": {"user": {}}}
        try:
            async with asyncio.timeout(TIMEOUT):
                answer = await self._post(PATH, body)
        except TimeoutError as error:
            raise _failed("context deadline exceeded") from error
        except WebhookError as error:
            raise _failed(str(error)) from error
        try:
            return self._user(answer.get("status") or {}), self._ttl
        except (AttributeError, TypeError, ValueError) as error:
            raise _failed(f"invalid answer: {error}") from error

    def _user(self, status: dict[str, Any]) -> UserInfo | None:
        audiences = status.get("audiences") or self._audiences
        if self._audiences and not set(self._audiences) & set(audiences):
            return None
        if not status.get("authenticated"):
            if status.get("error"):
                raise TokenReviewError(str(status["error"]))
            return None
        user = status.get("user") or {}
        return UserInfo(
            name=str(user.get("username") or ""),
            uid=str(user.get("uid") or ""),
            groups=tuple(map(str, user.get("groups") or ())),
            extra={str(key): tuple(map(str, texts)) for key, texts in (user.get("extra") or {}).items()},
        )


def _failed(reason: str) -> TokenReviewError:
    """Log a failed review (a problem of the server's setup), and return the error."""
    _LOG.error("TokenReview failed", error=reason)
    return TokenReviewError(reason)
