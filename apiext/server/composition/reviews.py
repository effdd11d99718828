"""Composition of reviews and of the tokens of service accounts. Their scopes are made at the first request."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, cast

from apiext.api.admission.dynamic import MUTATING_WEBHOOK, VALIDATING_WEBHOOK
from apiext.api.reviews.resources import REVIEWS
from apiext.api.serving.builtin.endpoints import BuiltinEndpoint
from apiext.api.serving.builtin.lazy_scopes import LazyScopes
from apiext.base.meta.builtin_resources import SECRETS, SERVICE_ACCOUNTS
from apiext.resources.registry.request_context import RequestContext
from apiext.server.composition.service_accounts import open_tokens
from apiext.server.options.feature_gates import VIRTUAL_RESOURCES_GATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.api.admission.attributes import Admission
    from apiext.api.admission.dynamic import DynamicAdmission
    from apiext.api.authentication.serviceaccount.service_account_tokens import ServiceAccountTokens
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.rest import ResourceRest
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
    hooks = None if options.feature_gates.enabled(VIRTUAL_RESOURCES_GATE) else _webhooks(admission)
    reviews = [
        BuiltinEndpoint(resource, LazyScopes({}, {"": partial(_review_scope, resource, access, hooks)}))
        for group in REVIEWS
        for resource in group.resources
    ]
    return [*own, *reviews], tokens


def _webhooks(admission: Admission) -> Admission | None:
    """Return the plug-ins of webhooks alone."""
    dynamic = cast("DynamicAdmission | None", admission.dynamic)
    if dynamic is None:
        return None
    from apiext.api.admission.chain import Chain

    return Chain([plugin for plugin in dynamic.plugins if plugin.name in {MUTATING_WEBHOOK, VALIDATING_WEBHOOK}], dynamic)


def _review_scope(resource: BuiltinResource, access: AccessControl, hooks: Admission | None) -> Scope:
    from apiext.api.serving.builtin.reviews import review_scope

    return review_scope(resource, access, hooks)


def _token_scope(tokens: ServiceAccountTokens, accounts: ResourceRest, secrets: ResourceRest, admission: Admission) -> Scope:
    from apiext.api.reviews.token_request import TokenRequests
    from apiext.api.serving.builtin.reviews import token_scope

    requests = TokenRequests(tokens, partial(_read, accounts), partial(_read, secrets))
    return token_scope(SERVICE_ACCOUNTS, requests.answer, admission)


async def _read(rest: ResourceRest, namespace: str, name: str) -> Object:
    """Return the latest state of an object. Raises StatusError."""
    return (await rest.get(RequestContext(namespace=namespace), name)).object()
