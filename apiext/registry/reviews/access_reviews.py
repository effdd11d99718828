"""SubjectAccessReview, SelfSubjectAccessReview, LocalSubjectAccessReview and SelfSubjectRulesReview.

Mirrors kubernetes pkg/registry/authorization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.authorization.authorizer import Decision, ReviewError, Verdict
from apiext.meta import errors
from apiext.meta.field import aggregate
from apiext.meta.gvk import GroupKind
from apiext.registry.reviews import access_validation
from apiext.registry.reviews.access_attributes import reviewed_request, reviewed_user
from apiext.registry.reviews.review_rest import admit

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.authorization.authorizer import Authorize
    from apiext.authorization.rule_resolver import ResolveRules
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.field import FieldError
    from apiext.meta.request import UserInfo
    from apiext.registry.request_context import CreateOptions, RequestContext
    from apiext.registry.reviews.review_rest import Answer

_GROUP = "authorization.k8s.io"


def subject_access_review(authorize: Authorize) -> Answer:
    """Return what answers SubjectAccessReviews."""
    return _review(authorize, access_validation.validate, lambda _ctx, spec: reviewed_user(spec))


def local_subject_access_review(authorize: Authorize) -> Answer:
    """Return what answers LocalSubjectAccessReviews."""
    return _review(authorize, access_validation.validate_local, lambda _ctx, spec: reviewed_user(spec))


def self_subject_access_review(authorize: Authorize) -> Answer:
    """Return what answers SelfSubjectAccessReviews."""
    return _review(authorize, access_validation.validate_self, lambda ctx, _spec: requesting_user(ctx))


def requesting_user(ctx: RequestContext) -> UserInfo:
    """Return the user of a request.

    Raises:
        StatusError: 400 if it has none.
    """
    if ctx.user is None:
        raise errors.bad_request("no user present on request")
    return ctx.user


def _review(
    authorize: Authorize, validate: Callable[[Object], list[FieldError]], user: Callable[[RequestContext, Object], UserInfo]
) -> Answer:
    async def answer(ctx: RequestContext, review: Object, options: CreateOptions) -> Object:
        if problems := validate(review):
            # the reference's internal objects have no kind
            raise errors.invalid(GroupKind(_GROUP, ""), "", problems)
        await admit(options, review)
        info, ignored = reviewed_request(review["spec"])
        try:
            verdict, failures = await authorize(user(ctx, review["spec"]), info), []
        except ReviewError as error:
            verdict, failures = Verdict(Decision.DENY if error.denied else Decision.NO_OPINION), [str(error)]
        status = {
            "allowed": verdict.decision is Decision.ALLOW,
            "denied": verdict.decision is Decision.DENY,
            "reason": verdict.reason,
            "evaluationError": "; ".join([*failures, *ignored]),
        }
        return {**review, "status": status}

    return answer


def self_subject_rules_review(resolve: ResolveRules) -> Answer:
    """Return what answers SelfSubjectRulesReviews."""

    async def answer(ctx: RequestContext, review: Object, options: CreateOptions) -> Object:
        user, namespace = requesting_user(ctx), review["spec"].get("namespace", "")
        if not namespace:
            raise errors.bad_request("no namespace on request")
        await admit(options, review)
        resolved = resolve(user, namespace)
        rules = [rule.as_json() for rule in resolved.rules]
        resource = [{name: part for name, part in rule.items() if name != "nonResourceURLs"} for rule in rules if "resources" in rule]
        other = [{"verbs": rule["verbs"], "nonResourceURLs": rule["nonResourceURLs"]} for rule in rules if "nonResourceURLs" in rule]
        status = {
            "resourceRules": resource,
            "nonResourceRules": other,
            "incomplete": resolved.incomplete,
            "evaluationError": aggregate(resolved.problems) if resolved.problems else "",
        }
        return {"metadata": {}, "spec": {}, "status": status}

    return answer
