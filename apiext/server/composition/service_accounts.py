"""Composition of the tokens of service accounts: keys, lookups in the store, and the documents of OpenID Connect."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from apiext.authentication.serviceaccount.service_account_tokens import Keys, ServiceAccountTokens
from apiext.meta import errors
from apiext.registry.request_context import RequestContext
from apiext.server.atomic_files import folder_locked, read_file, write_file
from apiext.server.start_error import StartError

if TYPE_CHECKING:
    from pathlib import Path

    from apiext.meta.encoding.json_codec import Object
    from apiext.registry.rest import ResourceRest
    from apiext.server.options.options import ServerOptions, ServiceAccountOptions

_KEY: Final = "service-account.key"


def open_tokens(options: ServerOptions, accounts: ResourceRest, secrets: ResourceRest) -> ServiceAccountTokens:
    """Return the tokens of the stored service accounts. Keys named by flags are read now, the server's own one when it is needed.

    Raises:
        StartError: a key file cannot be read, or has no key.
    """
    authentication = options.authentication
    service_accounts = authentication.service_accounts
    load = partial(_load, service_accounts, options.serving.cert_dir)
    if service_accounts.signing_key_file is not None:
        keys = _checked(load)
        load = partial(_same, keys)
    return ServiceAccountTokens(
        load=load,
        issuers=service_accounts.issuers,
        audiences=authentication.own_audiences,
        service_account=partial(_find, accounts),
        secret=partial(_find, secrets),
    )


def _same(keys: Keys) -> Keys:
    return keys


def _checked(load: partial[Keys]) -> Keys:
    from apiext.authentication.serviceaccount.keys import KeyFileError

    try:
        return load()
    except (OSError, KeyFileError) as error:
        raise StartError(f"key of service accounts: {error}") from error


def _load(options: ServiceAccountOptions, folder: Path) -> Keys:
    """Return the keys of the options; create the server's own one if there is none.

    Raises:
        OSError: a file cannot be read or written.
        KeyFileError: a file has no usable key.
    """
    # imported when the first token is issued or arrives: the import takes 50 ms
    from apiext.authentication.serviceaccount.keys import KeyFileError, new_signing_key, read_signing_key, read_verifying_keys

    path = options.signing_key_file or folder / _KEY
    pem = path.read_text() if options.signing_key_file is not None else read_file(path)
    if not pem:
        # other workers of the server may need it at the same time
        with folder_locked(folder):
            pem = read_file(path)
            if not pem:
                pem = new_signing_key().decode()
                write_file(path, pem, mode=0o600)
    try:
        signing = read_signing_key(pem.encode())
    except KeyFileError as error:
        raise KeyFileError(f"{path}: {error}") from error
    verifying = []
    for file in options.key_files:
        try:
            verifying += read_verifying_keys(file.read_bytes())
        except KeyFileError as error:
            raise KeyFileError(f"{file}: {error}") from error
    return Keys(signing, tuple(verifying) or (signing.public,))


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
