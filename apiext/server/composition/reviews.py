"""Composition of reviews and of the tokens of service accounts. Their scopes are made at the first request."""

from __future__ import annotations

import dataclasses
import errno
import os
from functools import partial
from typing import TYPE_CHECKING, Final, cast

from apiext.api.admission.dynamic import MUTATING_WEBHOOK, VALIDATING_WEBHOOK
from apiext.api.authentication.serviceaccount.service_account_tokens import Keys, ServiceAccountTokens
from apiext.api.reviews.review_rest import REVIEWS
from apiext.api.serving.builtin.endpoints import BuiltinEndpoint, LazyScopes
from apiext.base.atomic_files import folder_locked, make_private, write_file
from apiext.base.meta import errors
from apiext.base.meta.builtin_resources import SECRETS, SERVICE_ACCOUNTS
from apiext.resources.registry.request_context import RequestContext
from apiext.server.options.feature_gates import VIRTUAL_RESOURCES_GATE
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from apiext.api.admission.attributes import Admission
    from apiext.api.admission.dynamic import DynamicAdmission
    from apiext.api.endpoints.scopes.scope import Scope
    from apiext.base.meta.builtin_resources import BuiltinResource
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.rest import ResourceRest
    from apiext.server.composition.access import AccessControl
    from apiext.server.options.options import ServerOptions, ServiceAccountOptions


_KEY: Final = "service-account.key"


def open_tokens(options: ServerOptions, accounts: ResourceRest, secrets: ResourceRest) -> ServiceAccountTokens:
    """Return the tokens of the stored service accounts.

    Keys that flags name are read now. The server's own key is read, and made, when it is needed; its place is checked now.

    Raises:
        StartError: a key file cannot be read, or has no key; or the server's own key cannot be stored.
    """
    authentication = options.authentication
    service_accounts = authentication.service_accounts
    load: Callable[[], Keys | None]
    if service_accounts.signing_key_file is not None:
        load = create = partial(_same, _named_keys(service_accounts, service_accounts.signing_key_file))
    else:
        path = options.serving.cert_dir / _KEY
        _check_own(path)
        load, create = partial(_read_own, path), partial(_create_own, path)
    return ServiceAccountTokens(
        load=load,
        create=create,
        issuers=service_accounts.issuers,
        audiences=authentication.own_audiences,
        service_account=partial(_find, accounts),
        secret=partial(_find, secrets),
    )


def _same(keys: Keys) -> Keys:
    return keys


def _named_keys(options: ServiceAccountOptions, signing_key_file: Path) -> Keys:
    """Return the keys of the files that flags name. Raises StartError."""
    from apiext.api.authentication.serviceaccount.keys import KeyFileError, read_signing_key, read_verifying_keys

    path, verifying = signing_key_file, []
    try:
        signing = read_signing_key(path.read_bytes())
        for path in options.key_files:
            verifying += read_verifying_keys(path.read_bytes())
    except (OSError, KeyFileError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise StartError(f"key of service accounts: {path}: {reason}") from error
    return Keys(signing, tuple(verifying) or (signing.public,))


def _check_own(path: Path) -> None:
    """Check that the server's own key can be read, or made. Raises StartError.

    Whether the file's key is valid shows at the first token: the check would import cryptography.
    """
    try:
        make_private(path.parent)
        pem = _own_pem(path)
        if not pem and not os.access(path.parent, os.W_OK):
            raise PermissionError(errno.EACCES, "the folder is not writable")
    except OSError as error:
        hint = "--service-account-signing-key-file names a key, --cert-dir another folder"
        raise StartError(f"cannot store the key of service accounts in {path}: {error.strerror}; {hint}") from error
    if pem and b"PRIVATE KEY-----" not in pem:
        raise StartError(f"key of service accounts: {path}: the file has no private key in PEM")


def _own_pem(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def _read_own(path: Path) -> Keys | None:
    """Return the server's own key, None if there is none yet. Raises OSError and KeyFileError."""
    # imported when the first token is issued or arrives: the import takes 50 ms
    from apiext.api.authentication.serviceaccount.keys import KeyFileError, read_signing_key

    pem = _own_pem(path)
    if not pem:
        return None
    try:
        signing = read_signing_key(pem)
    except KeyFileError as error:
        raise KeyFileError(f"{path}: {error}") from error
    return Keys(signing, (signing.public,))


def _create_own(path: Path) -> Keys:
    """Return the server's own key, which is made if there is none. Raises OSError and KeyFileError."""
    from apiext.api.authentication.serviceaccount.keys import new_signing_key, read_signing_key

    # other workers of the server may make it at the same time
    with folder_locked(path.parent):
        found = _read_own(path)
        if found is None:
            pem = new_signing_key()
            write_file(path, pem.decode(), mode=0o600)
            signing = read_signing_key(pem)
            found = Keys(signing, (signing.public,))
        return found


async def _find(rest: ResourceRest, namespace: str, name: str) -> Object | None:
    """Return an object, None if it does not exist. The cache answers unless it lacks the object: then the store does."""
    if not namespace or not name:
        return None
    try:
        item = rest.store.cached_item(rest.key(namespace, name), rest.codec)
        item = item or await rest.get(RequestContext(namespace=namespace), name)
    except errors.StatusError as error:
        if error.code == 404:
            return None
        raise
    return item.object()


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
