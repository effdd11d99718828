"""SelfSubjectReview and TokenReview (kubernetes pkg/registry/authentication)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.api.authentication.tokens import AudienceError, TokenError
from apiext.api.reviews.access_reviews import requesting_user
from apiext.api.reviews.review_rest import admit
from apiext.base.meta import errors, time

if TYPE_CHECKING:
    from apiext.api.authentication.tokens import Authenticate
    from apiext.api.reviews.review_rest import Answer
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.request import UserInfo
    from apiext.resources.registry.request_context import CreateOptions, RequestContext


async def self_subject_review(ctx: RequestContext, review: Object, options: CreateOptions) -> Object:
    """Return the requesting user."""
    await admit(options, review)
    return {"metadata": {"creationTimestamp": time.now()}, "status": {"userInfo": _user_info(requesting_user(ctx))}}


def token_review(authenticate: Authenticate) -> Answer:
    """Return what answers TokenReviews: with the user of the token, or with the reason why there is none."""

    async def answer(_ctx: RequestContext, review: Object, options: CreateOptions) -> Object:
        token, audiences = review["spec"].get("token", ""), tuple(review["spec"].get("audiences") or ())
        if not token:
            raise errors.bad_request("token is required for TokenReview in authentication")
        await admit(options, review)
        try:
            found = await authenticate(token, audiences)
        except AudienceError as error:
            raise errors.internal("error validating audiences") from error
        except TokenError as error:
            return {**review, "status": {**review["status"], "error": str(error)}}
        status = {"authenticated": True, "user": _user_info(found.user), "audiences": list(found.audiences)}
        return {**review, "status": {**review["status"], **status}}

    return answer


def _user_info(user: UserInfo) -> Object:
    extra = {key: list(texts) for key, texts in user.extra.items()}
    return {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
