"""The source of the commands about stored objects: a running server, or a store."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

import click

from apiext.cli.credentials import credentials, text_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
    from apiext.server.options.options import StorageOptions
    from apiext.storage.backups.stores import WholeStore

    Ask = Callable[[str, Sequence[str], Mapping[str, str]], Awaitable[Object]]
    """Returns the document at a path below `/stored/`, given by its segments, with query parameters. Raises ClickException."""
    Get = Callable[[str], Awaitable[Object]]
    """Returns the document at a path. Raises ClickException."""

_TIMEOUT_SECONDS: Final = 60.0
_TEXTS: Final = {
    "kubeconfig": ("FILE", "Kubeconfig of apiext, or of its host (default the pod's service account, else that of kubectl)."),
    "server": ("URL", "URL of apiext's own address, if the kubeconfig has another (an aggregated server: that of its Service or pod)."),
    "ca-file": ("FILE", "CA of the certificate at --server (default that of the kubeconfig)."),
    "tls-server-name": ("NAME", "Name of that certificate (default the host of --server)."),
    "data-dir": ("DIR", "Read the store in this directory instead, beside the server or without it."),
    "etcd-servers": ("URLS", "Read this etcd instead, as http://host:port,..."),
    "etcd-prefix": ("PREFIX", "Prefix of all keys in etcd (default /registry)."),
    "etcd-cafile": ("FILE", "CA of etcd's certificates."),
    "etcd-certfile": ("FILE", "Client certificate for etcd."),
    "etcd-keyfile": ("FILE", "Key of --etcd-certfile."),
    "encryption-provider-config": ("FILE", "EncryptionConfiguration of the server that writes the store."),
}
_LISTS: Final = frozenset({"etcd-servers"})

SOURCE_FLAGS: Final = [
    click.Option([f"--{name}"], metavar=kind, help=text, multiple=name in _LISTS) for name, (kind, text) in _TEXTS.items()
]

SERVER_FLAGS: Final = SOURCE_FLAGS[:4]
"""The flags of commands that need a running server."""
BYTES_FLAGS: Final = [option for option in SOURCE_FLAGS if option.name != "encryption_provider_config"]
"""The flags of commands that copy stored bytes, encrypted or not."""


@asynccontextmanager
async def open_source(flags: Mapping[str, Any]) -> AsyncIterator[Ask]:
    """Yield a function that queries the server or the store of the flags.

    Raises:
        UsageError: a flag is invalid.
        ClickException: the store cannot be opened.
    """
    async with AsyncExitStack() as stack:
        if reads_store(flags):
            yield await _open_store(storage_of(flags), stack)
        else:
            yield _open_server(endpoint_of(flags), stack)


def reads_store(flags: Mapping[str, Any]) -> bool:
    """Report whether the flags name a store instead of a server."""
    return bool(flags["data_dir"] or flags["etcd_servers"])


async def _open_store(options: StorageOptions, stack: AsyncExitStack) -> Ask:
    from apiext.api.serving.stored_documents import StoredQuestion
    from apiext.base.meta.errors import StatusError
    from apiext.server.offline_store import open_stored
    from apiext.server.start_error import StartError

    try:
        stored = await open_stored(options, stack)
    except StartError as error:
        raise click.ClickException(str(error)) from error

    async def ask(what: str, rest: Sequence[str], query: Mapping[str, str]) -> Object:
        try:
            return await stored.get([what, *rest], StoredQuestion(query))
        except StatusError as error:
            raise click.ClickException(error.message) from error

    return ask


def _open_server(endpoint: Endpoint, stack: AsyncExitStack) -> Ask:
    get = open_server(endpoint, stack)

    async def ask(what: str, rest: Sequence[str], query: Mapping[str, str]) -> Object:
        path = "/".join(["/stored", what, *(quote(segment, safe="") for segment in rest)])
        return await get(f"{path}?{urlencode(query)}" if query else path)

    return ask


def open_server(endpoint: Endpoint, stack: AsyncExitStack) -> Get:
    """Return a function that reads the documents of a server; `stack` closes its connections."""
    from apiext.base.webhook.client import WebhookClient, WebhookError

    client = WebhookClient(endpoint, timeout=_TIMEOUT_SECONDS, backoff=())
    stack.push_async_callback(client.close)

    async def get(path: str) -> Object:
        try:
            found: Object = await client.get(path)
        except WebhookError as error:
            hint = "" if error.code != 404 or "not found" in str(error) else "; --server must name apiext's own address"
            raise click.ClickException(f"{error}{hint}") from error
        return found

    return get


def endpoint_of(flags: Mapping[str, Any]) -> Endpoint:
    """Return the address of the server that the flags name.

    Raises:
        UsageError: a flag is invalid.
    """
    import ssl

    from apiext.operator.api_clients import trusting

    endpoint, url = credentials(flags["kubeconfig"])(), (flags["server"] or "").rstrip("/")
    for name in ("ca-file", "tls-server-name"):
        if flags[name.replace("-", "_")] and not url:
            raise click.UsageError(f"--{name} needs --server too")
    if not url:
        return endpoint
    if not url.startswith("https://"):
        raise click.UsageError(f"--server: {url!r} does not begin with https://")
    authority = text_of("--ca-file", flags["ca_file"])
    try:
        context = trusting(authority, endpoint.context) if authority or endpoint.context is None else endpoint.context
    except ssl.SSLError as error:
        raise click.UsageError(f"--ca-file: {flags['ca_file']}: {error}") from error
    return replace(endpoint, url=url, context=context, server_name=flags["tls_server_name"] or "", proxy=None)


def storage_of(flags: Mapping[str, Any]) -> StorageOptions:
    """Return the store that the flags name.

    Raises:
        UsageError: a flag is invalid.
    """
    from apiext.base.meta.flags import FlagReader
    from apiext.server.options.flags import read_storage

    if flags["data_dir"] and flags["etcd_servers"]:
        raise click.UsageError("either --data-dir or --etcd-servers is needed, not both")
    reader = FlagReader(flags)
    options = read_storage(reader)
    if reader.problems:
        raise click.UsageError("\n".join(reader.problems))
    return options


def whole_store_of(flags: Mapping[str, Any]) -> WholeStore:
    """Return all keys of the store that the flags name.

    Raises:
        UsageError: a flag is invalid.
    """
    from apiext.server.composition.storage_backend import store_file
    from apiext.storage.backups.stores import WholeStore

    options = storage_of(flags)
    return WholeStore(store_file(options), options.prefix, options.etcd)
