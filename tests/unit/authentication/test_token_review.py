"""Tokens that another server knows."""

import asyncio
from typing import Any

import pytest

from apiext.authentication import token_review
from apiext.authentication.token_review import PATH, TokenReviewError, TokenReviews
from apiext.meta.request import UserInfo
from apiext.webhook.client import WebhookError
from tests.support.captured_logs import logged

ANN = {"username": "ann", "uid": "7", "groups": ["g"], "extra": {"k": ["v", "w"]}}


class Remote:
    """Another server that always says the same, and a clock."""

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


async def test_users() -> None:
    """All that is told of a user is kept for a while, by token."""
    remote = Remote({"authenticated": True, "user": ANN})
    for now in (0.0, 9.9, 10.0):
        remote.now = now
        assert await remote.reviews.user("t") == UserInfo("ann", ("g",), uid="7", extra={"k": ("v", "w")})
    await remote.reviews.user("other")

    assert remote.specs == [{"token": "t"}, {"token": "t"}, {"token": "other"}]


async def test_nobody() -> None:
    """That a token is nobody's is kept, too."""
    remote = Remote({"user": {}})

    assert [await remote.reviews.user("t") for _ in range(2)] == [None, None]
    assert len(remote.specs) == 1


@pytest.mark.parametrize(
    "status,why,is_logged",
    [
        ({"error": "expired"}, "expired", False),
        (WebhookError("no route"), "no route", True),
        ({"authenticated": True, "user": "ann"}, "an answer that cannot be used", True),
        ([1], "an answer that cannot be used", True),
    ],
)
async def test_failures_are_not_kept(caplog: pytest.LogCaptureFixture, status: Any, why: str, *, is_logged: bool) -> None:
    """What is wrong with a token may be right soon; that nobody says whose it is, is logged."""
    remote = Remote(status)
    for _ in range(2):
        with pytest.raises(TokenReviewError, match=why):
            await remote.reviews.user("t")

    assert len(remote.specs) == 2
    assert bool(logged(caplog)) is is_logged


async def test_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for ever."""
    monkeypatch.setattr(token_review, "TIMEOUT", 0.01)

    async def silent(_path: str, _body: Any) -> Any:
        await asyncio.Event().wait()

    with pytest.raises(TokenReviewError, match="context deadline exceeded"):
        await TokenReviews(silent, ttl=1).user("t")


@pytest.mark.parametrize("meant_for,known", [(["b", "c"], True), ([], True), (["c"], False)])
async def test_audiences(meant_for: list[str], *, known: bool) -> None:
    """A token has to be meant for one of the audiences; who names none takes all."""
    remote = Remote({"authenticated": True, "user": ANN, "audiences": meant_for}, audiences=("a", "b"))

    assert (await remote.reviews.user("t") is not None) is known
    assert remote.specs == [{"token": "t", "audiences": ["a", "b"]}]


async def test_bytes_that_are_no_text() -> None:
    """They are asked about as far as they can be told."""
    remote = Remote({})

    assert await remote.reviews.user("a\udcffb") is None
    assert remote.specs == [{"token": "a\ufffdb"}]
