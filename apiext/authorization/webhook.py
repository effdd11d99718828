"""Decisions of another server, kept for a while (apiserver plugin/pkg/authorizer/webhook/webhook.go)."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from apiext.authorization.authorizer import ALLOWED, NO_OPINION, Decision, ReviewError, Verdict
from apiext.authorization.subjectaccessreview import review_spec
from apiext.meta import wire
from apiext.webhook.client import WebhookError

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
        self._clock = clock
        self._kept: OrderedDict[bytes, tuple[float, Verdict]] = OrderedDict()
        self._asked: dict[bytes, asyncio.Task[Verdict]] = {}

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """The verdict; NO_OPINION is a refusal that another authorizer may overrule.

        Raises:
            ReviewError: the other server did not decide.
        """
        spec = review_spec(user, info)
        key = wire.dumps(spec)
        kept = self._kept.get(key)
        if kept is not None and kept[0] > self._clock():
            self._kept.move_to_end(key)
            return kept[1]
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.create_task(self._ask(key, spec, keep=_may_be_kept(info)))
        # Whoever leaves must not end the call for the others.
        return await asyncio.shield(task)

    async def _ask(self, key: bytes, spec: dict[str, Any], *, keep: bool) -> Verdict:
        body = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": spec}
        try:
            answer = await self._post(PATH, body | {"status": {"allowed": False}})
        except WebhookError as error:
            raise ReviewError(str(error)) from error
        finally:
            del self._asked[key]
        status = answer.get("status") or {}
        allowed, denied, reason = bool(status.get("allowed")), bool(status.get("denied")), str(status.get("reason") or "")
        if allowed and denied:
            raise ReviewError("webhook subject access review returned both allow and deny response", denied=True)
        verdict = _verdict(allowed=allowed, denied=denied, reason=reason)
        if keep:
            self._keep(key, verdict, self._authorized_ttl if allowed else self._unauthorized_ttl)
        return verdict

    def _keep(self, key: bytes, verdict: Verdict, seconds: float) -> None:
        self._kept[key] = (self._clock() + seconds, verdict)
        self._kept.move_to_end(key)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)


def _verdict(*, allowed: bool, denied: bool, reason: str) -> Verdict:
    if denied:
        return Verdict(Decision.DENY, reason)
    if allowed:
        return ALLOWED
    return Verdict(Decision.NO_OPINION, f"{NAME}: {reason}") if reason else NO_OPINION


def _may_be_kept(info: RequestInfo) -> bool:
    texts = (info.namespace, info.verb, info.group, info.version, info.resource, info.subresource, info.name, info.path)
    return sum(map(len, texts)) < _LARGEST
