"""Commands that read and write the stored bytes of objects, through a running server or in a store."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.stored_source import SOURCE_FLAGS, endpoint_of, reads_store, storage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from apiext.resources.stored_objects.interface import StoredObjects
    from apiext.server.options.options import StorageOptions

    Work = Callable[..., Coroutine[Any, Any, int]]


def with_objects(work: Work) -> Callable[..., int]:
    """Return a command that calls `work` with the stored objects of its source flags. With --yes it opens them for writing."""

    @functools.wraps(work)
    def run(**given: Any) -> int:
        flags = {option.name: given.pop(option.name) for option in SOURCE_FLAGS}
        return run_interruptible(_work(work, flags, given))

    return run


async def _work(work: Work, flags: Mapping[str, Any], given: Mapping[str, Any]) -> int:
    from apiext.resources.stored_objects.interface import RescueError

    objects = await _open(flags, writes=given.get("yes", False))
    try:
        return await work(objects, **given)
    except RescueError as error:
        raise click.ClickException(str(error)) from error
    finally:
        await objects.close()


async def _open(flags: Mapping[str, Any], *, writes: bool) -> StoredObjects:
    if reads_store(flags):
        return await _open_store(storage_of(flags), writes=writes)
    from apiext.base.webhook.client import WebhookClient
    from apiext.tools.rescue.server_objects import ServerObjects

    return ServerObjects(WebhookClient(endpoint_of(flags), timeout=60.0, backoff=()))


async def _open_store(options: StorageOptions, *, writes: bool) -> StoredObjects:
    """Open a store. Raise ClickException if there is none or, for writes, if a server uses the SQLite file."""
    from apiext.resources.stored_objects.offline import OfflineObjects
    from apiext.server.composition.storage_backend import open_backend, open_for_reading
    from apiext.server.start_error import StartError

    try:
        # fails without a store; open_backend would create one
        backend = await open_for_reading(options)
        if writes:
            await backend.close()
            backend = await open_backend(options)
    except StartError as error:
        raise click.ClickException(str(error)) from error
    return OfflineObjects.over(backend, options.prefix)
