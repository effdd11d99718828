"""Bearer tokens that another server knows, its answers kept for a while.

Mirrors apiserver plugin/pkg/authenticator/token/webhook and pkg/authentication/token/cache.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from apiext.meta.log import get_logger
from apiext.meta.request import UserInfo
from apiext.webhook.client import WebhookError
from apiext.webhook.response_cache import Answers

if TYPE_CHECKING:
    from collections.abc import Sequence

PATH: Final = "/apis/authentication.k8s.io/v1/tokenreviews"
TIMEOUT: Final = 10.0
"""Seconds for all calls about one token."""
_LOG: Final = get_logger(__name__)
_KEPT: Final = 32_768

Post = Callable[[str, Any], Awaitable[Any]]
"""Sends JSON to a path and returns the answer. Raises WebhookError."""


class TokenReviewError(Exception):
    """The token is not known to be anybody's; the message says why."""


class TokenReviews:
    """Asks whose a token is; many who show the same at once are one call.

    `ttl` is how many seconds an answer is kept. What the other server finds wrong with a token, and a failure, is never kept.
    With `audiences` a token counts only where it is meant for one of them.
    """

    def __init__(self, post: Post, *, ttl: float, audiences: Sequence[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        self._post = post
        self._ttl = ttl
        self._audiences = list(audiences)
        self._answers: Answers[UserInfo | None] = Answers(most=_KEPT, clock=clock)
        self._secret = secrets.token_bytes(32)

    async def user(self, token: str) -> UserInfo | None:
        """Whose the token is, None where it is nobody's.

        Raises:
            TokenReviewError: something is wrong with the token, or the other server did not say.
        """
        # tokens stay out of memory, and nobody can choose keys
        data = token.encode("utf-8", "surrogateescape")
        key = hashlib.blake2b(data, key=self._secret, digest_size=32).digest()
        # bytes that are no text are nobody's token, and are asked about as what JSON can hold
        return await self._answers.get(key, lambda: self._ask(data.decode(errors="replace")))

    async def _ask(self, token: str) -> tuple[UserInfo | None, float]:
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
            return self._read(answer.get("status") or {}), self._ttl
        except (AttributeError, TypeError, ValueError) as error:
            raise _failed(f"an answer that cannot be used: {error}") from error

    def _read(self, status: dict[str, Any]) -> UserInfo | None:
        meant_for = status.get("audiences") or self._audiences
        if self._audiences and not set(self._audiences) & set(meant_for):
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


def _failed(why: str) -> TokenReviewError:
    """It is wrongly set up, or away: whoever runs the server has to know."""
    _LOG.error("a token could not be reviewed", error=why)
    return TokenReviewError(why)
