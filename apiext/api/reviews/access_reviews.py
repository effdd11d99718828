"""SubjectAccessReview, SelfSubjectAccessReview, LocalSubjectAccessReview and SelfSubjectRulesReview.

Mirrors kubernetes pkg/registry/authorization.

Access attributes: kubernetes pkg/registry/authorization/util/helpers.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from apiext.api.authorization.authorizer import Decision, ReviewError, Verdict
from apiext.api.reviews import access_validation
from apiext.api.reviews.review_rest import admit
from apiext.base.meta import errors
from apiext.base.meta.field import aggregate
from apiext.base.meta.gvk import GroupKind
from apiext.base.meta.request import RequestInfo, UserInfo
from apiext.base.meta.selector_parser import parse_field_selector, parse_label_selector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from apiext.api.authorization.authorizer import Authorize
    from apiext.api.authorization.rule_resolver import ResolveRules
    from apiext.api.reviews.review_rest import Answer
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.field import FieldError
    from apiext.resources.registry.request_context import CreateOptions, RequestContext

_GROUP = "authorization.k8s.io"

_LABEL_TEXTS: Final[dict[str, str]] = {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "Exists": "{key}"}
_LABEL_TEXTS["DoesNotExist"] = "!{key}"
_FIELD_TEXTS: Final = {"In": "{key}={values}", "NotIn": "{key}!={values}"}


def reviewed_user(spec: Object) -> UserInfo:
    """Return the user that a SubjectAccessReview asks about."""
    extra = {key: tuple(texts or ()) for key, texts in (spec.get("extra") or {}).items()}
    return UserInfo(name=spec.get("user", ""), groups=tuple(spec.get("groups") or ()), uid=spec.get("uid", ""), extra=extra)


def reviewed_request(spec: Object) -> tuple[RequestInfo, list[str]]:
    """Return the request that a valid review asks about, and messages about what it ignores."""
    resource = spec.get("resourceAttributes")
    if resource is None:
        other = spec["nonResourceAttributes"]
        return RequestInfo(path=other.get("path", ""), verb=other.get("verb", "")), []
    ignored: list[str] = []
    fields = _selector("fieldSelector", resource, parse_field_selector, _field_text, ignored)
    labels = _selector("labelSelector", resource, parse_label_selector, _label_text, ignored)
    info = RequestInfo(
        is_resource=True,
        verb=resource.get("verb", ""),
        group=resource.get("group", ""),
        version=resource.get("version") or "*",
        namespace=resource.get("namespace", ""),
        resource=resource.get("resource", ""),
        subresource=resource.get("subresource", ""),
        name=resource.get("name", ""),
        field_selector=fields,
        label_selector=labels,
    )
    return info, ignored


def _selector(name: str, resource: Object, parse: Callable[[str], object], text_of: Callable[[Object], str], ignored: list[str]) -> str:
    """Return a selector as text. Append a message to `ignored` if parts are invalid: without them the request asks for more."""
    selector = resource.get(name) or {}
    requirements: Iterable[Object] = selector.get("requirements") or ()
    if requirements:
        texts = list(map(text_of, requirements))
        known = list(filter(None, texts))
        if len(known) < len(texts):
            ignored.append(f"spec.resourceAttributes.{name} {'partially ' if known else ''}ignored due to parse error")
        return ",".join(known)
    raw: str = selector.get("rawSelector", "")
    try:
        parse(raw)
    except ValueError:
        ignored.append(f"spec.resourceAttributes.{name} ignored due to parse error")
        return ""
    return raw


def _label_text(requirement: Object) -> str:
    """Return a label requirement as text, empty for an unknown operator."""
    values = ",".join(requirement.get("values") or ())
    return _LABEL_TEXTS.get(requirement["operator"], "").format(key=requirement["key"], values=values)


def _field_text(requirement: Object) -> str:
    """Return a field requirement as text, empty for one that field selectors cannot express."""
    values: list[str] = requirement.get("values") or []
    return _FIELD_TEXTS.get(requirement["operator"], "").format(key=requirement["key"], values=values[0]) if len(values) == 1 else ""


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
