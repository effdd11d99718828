"""authentication.k8s.io/v1 and authorization.k8s.io/v1, and the subresource token of ServiceAccounts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, cast

from apiext.admission.attributes import Admission
from apiext.admission.chain import Chain
from apiext.endpoints.scopes.open_watches import Watches
from apiext.endpoints.serializers.negotiation import TABLELESS_OFFERS
from apiext.meta.builtin_resources import BuiltinResource
from apiext.registry.builtin.kind import BuiltinKind
from apiext.registry.reviews import access_reviews, types, user_reviews
from apiext.registry.reviews.resources import (
    LOCAL_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_REVIEWS,
    SELF_SUBJECT_RULES_REVIEWS,
    SUBJECT_ACCESS_REVIEWS,
    TOKEN_REQUEST,
    TOKEN_REVIEWS,
)
from apiext.registry.reviews.review_rest import ReviewRest
from apiext.registry.reviews.token_request import default_token_request
from apiext.registry.strategy import Strategy
from apiext.serving.builtin.endpoints import BuiltinEndpoint
from apiext.serving.builtin.printing import PLAIN_TABLE
from apiext.serving.builtin.served_kind import ServedKind

if TYPE_CHECKING:
    from apiext.authentication.tokens import Authenticate
    from apiext.authorization.authorizer import Authorize
    from apiext.authorization.rule_resolver import ResolveRules
    from apiext.endpoints.scopes.scope import Scope
    from apiext.meta.golang.type_model import Struct
    from apiext.registry.rest import ResourceRest
    from apiext.registry.reviews.review_rest import Answer

_TOKEN: Final = "token"  # noqa: S105 -- the name of the subresource
_NONE: Final = Chain([])
"""No plugin applies to reviews. The reference exempts them from its namespace checks."""


def review_endpoints(authorize: Authorize, resolve: ResolveRules, authenticate: Authenticate) -> list[BuiltinEndpoint]:
    """Return the endpoints of all reviews."""
    return [
        _endpoint(TOKEN_REVIEWS, types.TOKEN_REVIEW, user_reviews.token_review(authenticate)),
        _endpoint(SELF_SUBJECT_REVIEWS, types.SELF_SUBJECT_REVIEW, user_reviews.self_subject_review),
        _endpoint(SUBJECT_ACCESS_REVIEWS, types.SUBJECT_ACCESS_REVIEW, access_reviews.subject_access_review(authorize)),
        _endpoint(LOCAL_SUBJECT_ACCESS_REVIEWS, types.LOCAL_SUBJECT_ACCESS_REVIEW, access_reviews.local_subject_access_review(authorize)),
        _endpoint(SELF_SUBJECT_ACCESS_REVIEWS, types.SELF_SUBJECT_ACCESS_REVIEW, access_reviews.self_subject_access_review(authorize)),
        _endpoint(SELF_SUBJECT_RULES_REVIEWS, types.SELF_SUBJECT_RULES_REVIEW, access_reviews.self_subject_rules_review(resolve)),
    ]


def with_tokens(accounts: BuiltinEndpoint, answer: Answer, admission: Admission) -> BuiltinEndpoint:
    """Return the endpoint of ServiceAccounts with the subresource token."""
    resource = dataclasses.replace(accounts.resource, kind=TOKEN_REQUEST, subresources=())
    scope = _scope(resource, types.TOKEN_REQUEST, answer, admission, subresource=_TOKEN)
    scope = dataclasses.replace(scope, resource=accounts.resource.resource, keeps_metadata=True)
    return dataclasses.replace(accounts, scopes={**accounts.scopes, _TOKEN: scope})


def _endpoint(resource: BuiltinResource, struct: Struct, answer: Answer) -> BuiltinEndpoint:
    return BuiltinEndpoint(resource, {"": _scope(resource, struct, answer, _NONE)})


def _scope(resource: BuiltinResource, struct: Struct, answer: Answer, admission: Admission, *, subresource: str = "") -> Scope:
    default = default_token_request if subresource else None
    kind = BuiltinKind(resource=resource, struct=struct, strategy=Strategy(), default=default)
    rest = cast("ResourceRest", ReviewRest(kind.codec(), resource.resource.group_resource, answer))
    served = ServedKind(kind=kind, table=PLAIN_TABLE, message=types.message(struct))
    scope = served.endpoint_over(rest, admission, Watches()).scopes[""]
    if not subresource:
        return dataclasses.replace(scope, table=None, offers=TABLELESS_OFFERS)
    fields = served.fields(scope.codec, (), subresource)
    return dataclasses.replace(scope, table=None, offers=TABLELESS_OFFERS, subresource=subresource, fields=fields)
