"""Decisions of another server, kept for a while (apiserver plugin/pkg/authorizer/webhook/webhook.go)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from apiext.authorization.authorizer import ALLOWED, NO_OPINION, Decision, ReviewError, Verdict
from apiext.authorization.subject_access_review import review_spec
from apiext.meta import json_codec
from apiext.webhook.client import WebhookError
from apiext.webhook.response_cache import Answers

if TYPE_CHECKING:
    from apiext.meta.request import RequestInfo, UserInfo

PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
NAME: Final = "kubernetes.io/webhook"
"""What refusals call it, as the reference's."""
_KEPT: Final = 8192
_LARGEST: Final = 10_000
"""Characters of what a client chose, from which on a decision is not kept."""

Post = Callable[[str, Any], Awaitable[Any]]
"""Sends JSON to a path and returns the answer. Raises WebhookError."""


class Reviews:
    """Asks for SubjectAccessReviews; many who ask the same at once are one call.

    `authorized_ttl` and `unauthorized_ttl` are how many seconds a decision is kept. A failure is never kept.
    """

    def __init__(self, post: Post, *, authorized_ttl: float, unauthorized_ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._post = post
        self._authorized_ttl = authorized_ttl
        self._unauthorized_ttl = unauthorized_ttl
        self._answers: Answers[Verdict] = Answers(most=_KEPT, clock=clock)

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The verdict; NO_OPINION is a refusal that another authorizer may overrule.

        Raises:
            ReviewError: the other server did not decide.
        """
        spec = review_spec(user, info)
        return await self._answers.get(json_codec.dumps(spec), lambda: self._ask(spec, keep=_may_be_kept(info)))

    async def _ask(self, spec: dict[str, Any], *, keep: bool) -> tuple[Verdict, float]:
        body = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": spec}
        try:
            answer = await self._post(PATH, body | {"status": {"allowed": False}})
        except WebhookError as error:
            raise ReviewError(str(error)) from error
        status = answer.get("status") or {}
        allowed, denied, reason = bool(status.get("allowed")), bool(status.get("denied")), str(status.get("reason") or "")
        if allowed and denied:
            raise ReviewError("webhook subject access review returned both allow and deny response", denied=True)
        seconds = self._authorized_ttl if allowed else self._unauthorized_ttl
        return _verdict(allowed=allowed, denied=denied, reason=reason), seconds if keep else 0


def _verdict(*, allowed: bool, denied: bool, reason: str) -> Verdict:
    if denied:
        return Verdict(Decision.DENY, reason)
    if allowed:
        return ALLOWED
    return Verdict(Decision.NO_OPINION, f"{NAME}: {reason}") if reason else NO_OPINION


def _may_be_kept(info: RequestInfo) -> bool:
    texts = (info.namespace, info.verb, info.group, info.version, info.resource, info.subresource, info.name, info.path)
    return sum(map(len, texts)) < _LARGEST
