"""SubjectAccessReviews of another server, cached.

Mirrors apiserver plugin/pkg/authorizer/webhook/webhook.go and pkg/endpoints/filters/authorization.go.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from apiext.api.authorization.authorizer import ALLOWED, Decision, ReviewError, Verdict
from apiext.base.meta.encoding import json_codec
from apiext.base.meta.selector_parser import field_requirement_steps, label_requirement_steps
from apiext.base.meta.selectors import Operator
from apiext.base.meta.steps import Steps
from apiext.base.scheduling.time_slice import in_slices
from apiext.base.webhook.client import Post, WebhookError
from apiext.base.webhook.response_cache import ResponseCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.base.meta.request import RequestInfo, UserInfo

PATH: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
NAME: Final = "kubernetes.io/webhook"
"""The authorizer's name in reasons."""
_MAX_ENTRIES: Final = 8192
"""Cached decisions."""
_MAX_CACHED_LENGTH: Final = 10_000
"""Characters of the request's attributes; longer requests are not cached (upstream maxControlledAttrCacheSize)."""

_OPERATORS: Final = {
    Operator.EQUALS: "In",
    Operator.DOUBLE_EQUALS: "In",
    Operator.IN: "In",
    Operator.NOT_EQUALS: "NotIn",
    Operator.NOT_IN: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
}


class SubjectAccessReviews:
    """Reviews requests; concurrent equal requests share one review.

    A decision is cached for `authorized_ttl` or `unauthorized_ttl` seconds. A failure is not cached.
    """

    def __init__(self, post: Post, *, authorized_ttl: float, unauthorized_ttl: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._post = post
        self._authorized_ttl = authorized_ttl
        self._unauthorized_ttl = unauthorized_ttl
        self._cache: ResponseCache[Verdict] = ResponseCache(max_entries=_MAX_ENTRIES, clock=clock)

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        """Return the verdict; NO_OPINION if the other server neither allows nor denies the request.

        Raises:
            ReviewError: the review failed.
        """
        spec = await in_slices(review_spec(user, info))
        return await self._cache.get(json_codec.dumps(spec), lambda: self._review(spec, cache=_is_cacheable(info)))

    async def _review(self, spec: dict[str, Any], *, cache: bool) -> tuple[Verdict, float]:
        body = {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "metadata": {}, "spec": spec}
        try:
            answer = await self._post(PATH, body | {"status": {"allowed": False}})
        except WebhookError as error:
            raise ReviewError(str(error)) from error
        status = answer.get("status") or {}
        allowed, denied, reason = bool(status.get("allowed")), bool(status.get("denied")), str(status.get("reason") or "")
        if allowed and denied:
            raise ReviewError("webhook subject access review returned both allow and deny response", denied=True)
        if allowed:
            return Verdict(Decision.ALLOW, reason) if reason else ALLOWED, self._authorized_ttl if cache else 0
        verdict = Verdict(Decision.DENY, reason) if denied else Verdict(Decision.NO_OPINION, f"{NAME}: {reason}" if reason else "")
        return verdict, self._unauthorized_ttl if cache else 0


def _is_cacheable(info: RequestInfo) -> bool:
    names = (info.namespace, info.verb, info.group, info.version, info.resource, info.subresource, info.name)
    return sum(map(len, (*names, info.path, info.field_selector, info.label_selector))) < _MAX_CACHED_LENGTH


def review_spec(user: UserInfo, info: RequestInfo) -> Steps[dict[str, Any]]:
    """Return the spec of a review, in steps. Requests with equal attributes get equal specs."""
    about: dict[str, Any]
    if info.is_resource:
        about = {"resourceAttributes": (yield from _resource_attributes(info))}
    else:
        about = {"nonResourceAttributes": _present(path=info.path, verb=info.verb)}
    extra = {key: list(texts) for key, texts in sorted(user.extra.items())}
    return about | _present(user=user.name, groups=list(user.groups), extra=extra, uid=user.uid)


def _resource_attributes(info: RequestInfo) -> Steps[dict[str, Any]]:
    return _present(
        namespace=info.namespace,
        verb=info.verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        name=info.name,
        fieldSelector=_present(requirements=(yield from _field_requirements(info.field_selector))),
        labelSelector=_present(requirements=(yield from _label_requirements(info.label_selector))),
    )


def _field_requirements(text: str) -> Steps[list[dict[str, Any]]]:
    """Return the requirements of a field selector. An invalid selector has none: requirements only narrow the request."""
    try:
        requirements = (yield from field_requirement_steps(text)) if text else ()
    except ValueError:
        return []
    found = []
    for one in requirements:
        found.append({"key": one.field, "operator": _OPERATORS[one.operator], "values": [one.value]})
        yield
    return found


def _label_requirements(text: str) -> Steps[list[dict[str, Any]]]:
    try:
        requirements = (yield from label_requirement_steps(text)) if text else ()
    except ValueError:
        return []
    found = []
    for one in requirements:
        if one.operator in _OPERATORS:
            found.append({"key": one.key, "operator": _OPERATORS[one.operator], **_present(values=list(one.values))})
        yield
    return found


def _present(**members: Any) -> dict[str, Any]:
    return {name: member for name, member in members.items() if member}
