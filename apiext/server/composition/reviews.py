"""Composition of reviews and of the tokens of service accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from apiext.meta import errors
from apiext.meta.builtin_resources import SERVICE_ACCOUNTS
from apiext.meta.gvk import GroupResource
from apiext.registry.request_context import RequestContext
from apiext.registry.reviews.token_request import TokenRequests
from apiext.server.composition.service_accounts import open_tokens
from apiext.serving.builtin.reviews import review_endpoints, with_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.admission.attributes import Admission
    from apiext.authentication.serviceaccount.service_account_tokens import ServiceAccountTokens
    from apiext.meta.encoding.json_codec import Object
    from apiext.registry.rest import ResourceRest
    from apiext.server.composition.access import AccessControl
    from apiext.server.options.options import ServerOptions
    from apiext.serving.builtin.endpoints import BuiltinEndpoint

_SECRETS = GroupResource("", "secrets")


def serve_reviews(
    options: ServerOptions, endpoints: Sequence[BuiltinEndpoint], access: AccessControl, admission: Admission
) -> tuple[list[BuiltinEndpoint], ServiceAccountTokens]:
    """Return the endpoints of a standalone server with those of reviews, and the tokens of its service accounts.

    Raises:
        StartError: a key file is invalid.
    """
    found = {endpoint.resource.resource.group_resource: endpoint for endpoint in endpoints}
    accounts = found[SERVICE_ACCOUNTS.resource.group_resource]
    secrets = cast("ResourceRest", found[_SECRETS].scopes[""].rest) if _SECRETS in found else None
    account_rest = cast("ResourceRest", accounts.scopes[""].rest)
    tokens = open_tokens(options, account_rest, secrets)
    access.authenticators.insert(1, tokens.authenticate)

    async def account(namespace: str, name: str) -> Object:
        return (await account_rest.get(RequestContext(namespace=namespace), name)).object()

    async def secret(namespace: str, name: str) -> Object:
        if secrets is None:
            raise errors.not_found(_SECRETS, name)
        return (await secrets.get(RequestContext(namespace=namespace), name)).object()

    requests = TokenRequests(tokens, account, secret)
    own = [with_tokens(endpoint, requests.answer, admission) if endpoint is accounts else endpoint for endpoint in endpoints]
    reviews = review_endpoints(access.modes.authorize, access.resolver(), access.authenticate())
    return [*own, *reviews], tokens
