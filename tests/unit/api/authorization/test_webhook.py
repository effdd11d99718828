"""SubjectAccessReviews of another server."""

import asyncio
from typing import Any

import pytest

from apiext.api.authorization.authorizer import ALLOWED, NO_OPINION, Decision, ReviewError
from apiext.api.authorization.webhook import PATH, SubjectAccessReviews, review_spec
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.base.meta.steps import at_once
from apiext.base.webhook.client import WebhookError

ANN = UserInfo("ann", ("g",), uid="1", extra={"k": ("v",)})
INFO = RequestInfo(is_resource=True, path="/x", verb="list", group="example.com", version="v1", namespace="default", resource="widgets")


class Remote:
    """A server with one answer, and a clock."""

    def __init__(self, status: dict[str, Any] | Exception) -> None:
        self.status = status
        self.bodies: list[Any] = []
        self.called = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()
        self.now = 0.0
        self.reviews = SubjectAccessReviews(self._post, authorized_ttl=10, unauthorized_ttl=5, clock=lambda: self.now)

    async def _post(self, path: str, body: Any) -> Any:
        assert path == PATH
        self.bodies.append(body)
        self.called.set()
        await self.open.wait()
        if isinstance(self.status, Exception):
            raise self.status
        return {"status": self.status}


@pytest.mark.parametrize(
    "status,decision,reason",
    [
        ({"allowed": True, "reason": "because"}, Decision.ALLOW, "because"),
        ({"allowed": False}, Decision.NO_OPINION, ""),
        ({"allowed": False, "reason": "no rule"}, Decision.NO_OPINION, "kubernetes.io/webhook: no rule"),
        ({"allowed": False, "denied": True, "reason": "never"}, Decision.DENY, "never"),
    ],
)
async def test_returns_the_decision(status: dict[str, Any], decision: Decision, reason: str) -> None:
    """Return the reason of an allowed request, and NO_OPINION with a named reason for a request that is neither allowed nor denied."""
    verdict = await Remote(status).reviews.authorize(ANN, INFO)

    assert (verdict.decision, verdict.reason) == (decision, reason)


@pytest.mark.parametrize("allowed,seconds", [(True, 10.0), (False, 5.0)])
async def test_caches_decisions(*, allowed: bool, seconds: float) -> None:
    """Cache each kind of decision for its TTL, by the whole spec."""
    remote = Remote({"allowed": allowed})
    for now in (0.0, seconds - 0.1, seconds + 0.1):
        remote.now = now
        assert await remote.reviews.authorize(ANN, INFO) == (ALLOWED if allowed else NO_OPINION)
    await remote.reviews.authorize(UserInfo("ann"), INFO)

    assert len(remote.bodies) == 3


async def test_does_not_cache_failures() -> None:
    """Raise a failure, and send the next review again."""
    remote = Remote(WebhookError("no route"))
    for _ in range(2):
        with pytest.raises(ReviewError, match=r"^no route$"):
            await remote.reviews.authorize(ANN, INFO)

    assert len(remote.bodies) == 2


async def test_rejects_allowed_and_denied() -> None:
    """Raise an error that denies the request where the answer both allows and denies it."""
    with pytest.raises(ReviewError, match="both allow and deny") as failed:
        await Remote({"allowed": True, "denied": True}).reviews.authorize(ANN, INFO)

    assert failed.value.denied


async def test_does_not_cache_long_attributes() -> None:
    """Do not cache the decision about a path of 10,000 characters."""
    remote = Remote({"allowed": True})
    for _ in range(2):
        await remote.reviews.authorize(ANN, RequestInfo(path="/" + "x" * 10_000, verb="get"))

    assert len(remote.bodies) == 2


async def test_shares_concurrent_reviews() -> None:
    """Send one review for equal requests, also where the first caller is cancelled."""
    remote = Remote({"allowed": True})
    remote.open.clear()
    tasks = [asyncio.create_task(remote.reviews.authorize(ANN, INFO)) for _ in range(5)]
    await remote.called.wait()
    tasks[0].cancel()
    remote.open.set()

    assert await asyncio.gather(*tasks[1:]) == [ALLOWED] * 4
    assert len(remote.bodies) == 1


async def test_sends_the_spec() -> None:
    """Send user, verb and resource as the reference does."""
    remote = Remote({"allowed": True})
    await remote.reviews.authorize(ANN, INFO)

    attributes = {"namespace": "default", "verb": "list", "group": "example.com", "version": "v1", "resource": "widgets"}
    assert remote.bodies == [
        {
            "kind": "SubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {"resourceAttributes": attributes, "user": "ann", "groups": ["g"], "extra": {"k": ["v"]}, "uid": "1"},
            "status": {"allowed": False},
        }
    ]


def test_sends_non_resource_paths() -> None:
    """Send the path of a non-resource request."""
    assert at_once(review_spec(UserInfo("a"), RequestInfo(path="/version", verb="get"))) == {
        "nonResourceAttributes": {"path": "/version", "verb": "get"},
        "user": "a",
    }


def test_sends_selectors() -> None:
    """Send the requirements of selectors, none for an invalid one."""
    info = RequestInfo(is_resource=True, field_selector="metadata.name=a,x!=b", label_selector="c in (d,e),!f,g,h>1")

    asked = at_once(review_spec(UserInfo("a"), info))["resourceAttributes"]

    assert asked["fieldSelector"]["requirements"] == [
        {"key": "metadata.name", "operator": "In", "values": ["a"]},
        {"key": "x", "operator": "NotIn", "values": ["b"]},
    ]
    assert asked["labelSelector"]["requirements"] == [
        {"key": "c", "operator": "In", "values": ["d", "e"]},
        {"key": "f", "operator": "DoesNotExist"},
        {"key": "g", "operator": "Exists"},
    ]
    invalid = RequestInfo(is_resource=True, label_selector="(", field_selector="(")
    assert at_once(review_spec(UserInfo("a"), invalid))["resourceAttributes"] == {}
