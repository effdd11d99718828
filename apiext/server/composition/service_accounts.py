"""Composition of the tokens of service accounts: keys, lookups in the store, and the documents of OpenID Connect."""

from __future__ import annotations

import errno
import os
from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.api.authentication.serviceaccount.service_account_tokens import Keys, ServiceAccountTokens
from apiext.base.meta import errors
from apiext.resources.registry.request_context import RequestContext
from apiext.server.atomic_files import folder_locked, make_private, write_file
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.registry.rest import ResourceRest
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
