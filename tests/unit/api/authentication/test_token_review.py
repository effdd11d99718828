"""TokenReviews of another server."""

import asyncio
from typing import Any

import pytest

from apiext.api.authentication import token_review
from apiext.api.authentication.token_review import PATH, TokenReviewError, TokenReviews
from apiext.base.meta.request import UserInfo
from apiext.base.webhook.client import WebhookError
from tests.support.captured_logs import logged

ANN = {"username": "ann", "uid": "7", "groups": ["g"], "extra": {"k": ["v", "w"]}}


class Remote:
    """A server with one answer, and a clock."""

    def __init__(self, status: Any, *, audiences: tuple[str, ...] = ()) -> None:
        self.status = status
        self.specs: list[Any] = []
        self.now = 0.0
        self.reviews = TokenReviews(self._post, ttl=10.0, audiences=audiences, clock=lambda: self.now)

    async def _post(self, path: str, body: Any) -> Any:
        assert path == PATH
        assert (body["kind"], body["apiVersion"]) == ("TokenReview", "authentication.k8s.io/v1")
        self.specs.append(body["spec"])
        if isinstance(self.status, Exception):
            raise self.status
        return {"status": self.status}


async def test_caches_users() -> None:
    """Return name, uid, groups and extra, cached by token until the TTL ends."""
    remote = Remote({"authenticated": True, "user": ANN})
    for now in (0.0, 9.9, 10.0):
        remote.now = now
        assert await remote.reviews.user("t") == UserInfo("ann", ("g",), uid="7", extra={"k": ("v", "w")})
    await remote.reviews.user("other")

    assert remote.specs == [{"token": "t"}, {"token": "t"}, {"token": "other"}]


async def test_caches_unauthenticated_tokens() -> None:
    """Cache that a token is not authenticated."""
    remote = Remote({"user": {}})

    assert [await remote.reviews.user("t") for _ in range(2)] == [None, None]
    assert len(remote.specs) == 1


@pytest.mark.parametrize(
    "status,reason,is_logged",
    [
        ({"error": "expired"}, "expired", False),
        (WebhookError("no route"), "no route", True),
        ({"authenticated": True, "user": "ann"}, "invalid answer", True),
        ([1], "invalid answer", True),
    ],
)
async def test_does_not_cache_failures(caplog: pytest.LogCaptureFixture, status: Any, reason: str, *, is_logged: bool) -> None:
    """Raise the error of each review, uncached, and log a review that failed."""
    remote = Remote(status)
    for _ in range(2):
        with pytest.raises(TokenReviewError, match=reason):
            await remote.reviews.user("t")

    assert len(remote.specs) == 2
    assert bool(logged(caplog)) is is_logged


async def test_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise an error when there is no answer in time."""
    monkeypatch.setattr(token_review, "TIMEOUT", 0.01)

    async def silent(_path: str, _body: Any) -> Any:
        await asyncio.Event().wait()

    with pytest.raises(TokenReviewError, match="context deadline exceeded"):
        await TokenReviews(silent, ttl=1).user("t")


@pytest.mark.parametrize("audiences,accepted", [(["b", "c"], True), ([], True), (["c"], False)])
async def test_audiences(audiences: list[str], *, accepted: bool) -> None:
    """Accept a token for one of the audiences, or for all."""
    remote = Remote({"authenticated": True, "user": ANN, "audiences": audiences}, audiences=("a", "b"))

    assert (await remote.reviews.user("t") is not None) is accepted
    assert remote.specs == [{"token": "t", "audiences": ["a", "b"]}]


async def test_reviews_tokens_that_are_not_utf8() -> None:
    """Send replacement characters for invalid bytes."""
    remote = Remote({})

    assert await remote.reviews.user("a\udcffb") is None
    assert remote.specs == [{"token": "a\ufffdb"}]
