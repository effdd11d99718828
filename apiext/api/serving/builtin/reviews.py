"""authentication.k8s.io/v1 and authorization.k8s.io/v1, and the subresource token of ServiceAccounts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Final, Protocol, cast

from apiext.api.admission.attributes import Admission
from apiext.api.admission.chain import Chain
from apiext.api.endpoints.scopes.open_watches import Watches
from apiext.api.endpoints.serializers.negotiation import TABLELESS_OFFERS
from apiext.api.reviews import access_reviews, user_reviews
from apiext.api.reviews.review_rest import (
    LOCAL_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_ACCESS_REVIEWS,
    SELF_SUBJECT_REVIEWS,
    SELF_SUBJECT_RULES_REVIEWS,
    SUBJECT_ACCESS_REVIEWS,
    TOKEN_REQUEST,
    TOKEN_REVIEWS,
    ReviewRest,
)
from apiext.api.reviews.token_request import default_token_request
from apiext.api.serving.builtin.printing import PLAIN_TABLE
from apiext.api.serving.builtin.served_kind import ServedKind
from apiext.base.meta.builtin_resources import BuiltinResource
from apiext.base.meta.generated.go_types import struct_of
from apiext.resources.registry.builtin.kind import BuiltinKind
from apiext.resources.registry.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from apiext.api.authentication.tokens import Authenticate
    from apiext.api.authorization.authorizer import Authorize
    from apiext.api.authorization.rule_resolver import ResolveRules
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.api.reviews.review_rest import Answer
    from apiext.resources.registry.rest import ResourceRest


class ReviewAccess(Protocol):
    """What reviews ask."""

    @property
    def authorize(self) -> Authorize:
        """Return what authorizes requests."""
        ...

    def resolver(self) -> ResolveRules:
        """Return the rules of users."""
        ...

    def authenticate(self) -> Authenticate:
        """Return what authenticates tokens."""
        ...


_TOKEN: Final = "token"  # noqa: S105 -- the name of the subresource
_REVIEWS: Final[dict[BuiltinResource, Callable[[ReviewAccess], Answer]]] = {
    TOKEN_REVIEWS: lambda access: user_reviews.token_review(access.authenticate()),
    SELF_SUBJECT_REVIEWS: lambda _: user_reviews.self_subject_review,
    SUBJECT_ACCESS_REVIEWS: lambda access: access_reviews.subject_access_review(access.authorize),
    LOCAL_SUBJECT_ACCESS_REVIEWS: lambda access: access_reviews.local_subject_access_review(access.authorize),
    SELF_SUBJECT_ACCESS_REVIEWS: lambda access: access_reviews.self_subject_access_review(access.authorize),
    SELF_SUBJECT_RULES_REVIEWS: lambda access: access_reviews.self_subject_rules_review(access.resolver()),
}
_NONE: Final = Chain([])
"""No plugin applies to reviews. The reference exempts them from its namespace checks."""


def review_scope(resource: BuiltinResource, access: ReviewAccess, admission: Admission | None = None) -> Scope:
    """Return the scope of a review, whose writes no plug-in sees but those of `admission`."""
    return _scope(resource, _REVIEWS[resource](access), admission or _NONE)


def token_scope(accounts: BuiltinResource, answer: Answer, admission: Admission) -> Scope:
    """Return the scope of the subresource token of ServiceAccounts."""
    resource = dataclasses.replace(accounts, kind=TOKEN_REQUEST, subresources=())
    scope = _scope(resource, answer, admission, subresource=_TOKEN)
    return dataclasses.replace(scope, resource=accounts.resource, dialect=dataclasses.replace(scope.dialect, keeps_metadata=True))


def _scope(resource: BuiltinResource, answer: Answer, admission: Admission, *, subresource: str = "") -> Scope:
    default = default_token_request if subresource else None
    kind = BuiltinKind(resource=resource, struct=struct_of(resource.kind), strategy=Strategy(), default=default)
    rest = cast("ResourceRest", ReviewRest(kind.codec(), resource.resource.group_resource, answer))
    served = ServedKind(kind=kind, table=PLAIN_TABLE)
    scope = served.endpoint_over(rest, admission, Watches()).scopes[""]
    scope = dataclasses.replace(scope, dialect=dataclasses.replace(scope.dialect, table=None, offers=TABLELESS_OFFERS))
    if not subresource:
        return scope
    fields = served.fields(scope.codec, (), subresource)
    return dataclasses.replace(scope, subresource=subresource, fields=fields)
