"""Composition of reviews and of the tokens of service accounts. Their scopes are made at the first request."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, cast

from apiext.meta.builtin_resources import SECRETS, SERVICE_ACCOUNTS
from apiext.registry.request_context import RequestContext
from apiext.registry.reviews.resources import REVIEWS
from apiext.server.composition.service_accounts import open_tokens
from apiext.serving.builtin.endpoints import BuiltinEndpoint
from apiext.serving.builtin.lazy_scopes import LazyScopes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.admission.attributes import Admission
    from apiext.authentication.serviceaccount.service_account_tokens import ServiceAccountTokens
    from apiext.endpoints.scopes.scope import Scope
    from apiext.meta.builtin_resources import BuiltinResource
    from apiext.meta.encoding.json_codec import Object
    from apiext.registry.rest import ResourceRest
    from apiext.server.composition.access import AccessControl
    from apiext.server.options.options import ServerOptions


def serve_reviews(
    options: ServerOptions, endpoints: Sequence[BuiltinEndpoint], access: AccessControl, admission: Admission
) -> tuple[list[BuiltinEndpoint], ServiceAccountTokens]:
    """Return the endpoints of a standalone server with those of reviews, and the tokens of its service accounts.

    Raises:
        StartError: a key file is invalid.
    """
    found = {endpoint.resource: endpoint for endpoint in endpoints}
    accounts = found[SERVICE_ACCOUNTS]
    rests = cast("ResourceRest", accounts.scopes[""].rest), cast("ResourceRest", found[SECRETS].scopes[""].rest)
    tokens = open_tokens(options, *rests)
    access.authenticators.insert(1, tokens.authenticate)
    makers = {"token": partial(_token_scope, tokens, *rests, admission)}
    with_token = dataclasses.replace(accounts, scopes=LazyScopes(accounts.scopes, makers))
    own = [with_token if endpoint is accounts else endpoint for endpoint in endpoints]
    reviews = [
        BuiltinEndpoint(resource, LazyScopes({}, {"": partial(_review_scope, resource, access)}))
        for group in REVIEWS
        for resource in group.resources
    ]
    return [*own, *reviews], tokens


def _review_scope(resource: BuiltinResource, access: AccessControl) -> Scope:
    from apiext.serving.builtin.reviews import review_scope

    return review_scope(resource, access)


def _token_scope(tokens: ServiceAccountTokens, accounts: ResourceRest, secrets: ResourceRest, admission: Admission) -> Scope:
    from apiext.registry.reviews.token_request import TokenRequests
    from apiext.serving.builtin.reviews import token_scope

    requests = TokenRequests(tokens, partial(_read, accounts), partial(_read, secrets))
    return token_scope(SERVICE_ACCOUNTS, requests.answer, admission)


async def _read(rest: ResourceRest, namespace: str, name: str) -> Object:
    """Return the latest state of an object. Raises StatusError."""
    return (await rest.get(RequestContext(namespace=namespace), name)).object()
