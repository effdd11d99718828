"""Lists and watches that begin again whenever they end or fail (client-go tools/cache/reflector.go)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NoReturn

from apiext.base.meta.errors import StatusError
from apiext.base.meta.log import get_logger
from apiext.base.scheduling.backoff import Backoff
from apiext.base.scheduling.tasks import end_tasks
from apiext.storage.backend import BackendError
from apiext.storage.errors import StorageError
from apiext.storage.interface import EventType, WatchOptions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from apiext.base.meta.log import Logger
    from apiext.storage.interface import Codec, Event, Store, Watch

_LOG: Final = get_logger(__name__)
FAILURES: Final = (BackendError, StorageError, StatusError)
"""Expected exceptions of a store."""
PAUSES: Final = (0.05, 5.0)
"""Seconds before the first retry of list and watch, and the longest before later ones."""


async def repeat(
    step: Callable[[Backoff], Awaitable[None]], *, log: Logger, failed: str, pauses: tuple[float, float] = PAUSES, **fields: Any
) -> NoReturn:
    """Call a function until cancelled, with a pause after each call, which the function resets when it succeeds. Log its failures."""
    backoff = Backoff(*pauses)
    while True:
        try:
            await step(backoff)
        except FAILURES as error:
            log.warning(failed, error=str(error), retry_after=backoff.next, **fields)
        except Exception:
            # without the task, its followers would be stale until the server restarts
            log.exception(failed, retry_after=backoff.next, **fields)
        await backoff.pause()


async def list_and_watch(
    read: Callable[[], Awaitable[int]], watch: Callable[[int], Awaitable[None]], revision: int, *, log: Logger, failed: str, **fields: Any
) -> NoReturn:
    """Watch for changes after a revision until cancelled; read all objects again after each end, and before if it is negative.

    `read` returns the revision of what it has read; `failed` is the log event of a failure.
    """

    async def step(backoff: Backoff) -> None:
        nonlocal revision
        begin, revision = revision, -1
        if begin < 0:
            begin = await read()
        backoff.reset()
        await watch(begin)

    await repeat(step, log=log, failed=failed, **fields)


async def pass_events(watch: Watch, handle: Callable[[Event], None]) -> None:
    """Call a function with each event of a watch until the watch ends or reports an error. Close the watch, whatever happens.

    Raises what the watch and the function raise.
    """
    try:
        async for batch in watch:
            for event in batch:
                if event.type is EventType.ERROR:
                    return
                handle(event)
    finally:
        watch.close()


class StoreInformer:
    """Lists the objects of a store, then watches for changes until it is closed."""

    def __init__(self, store: Store, codec: Codec, resource: str) -> None:
        self.store = store
        self._codec = codec
        self._resource = resource
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """List all objects, then watch for changes.

        Raises:
            BackendError, StorageError, StatusError: the list failed.
        """
        self.follow(await self.read())

    def follow(self, revision: int) -> None:
        """Watch for changes after a revision, without waiting; list first if it is negative, until that succeeds."""
        failed = "informer disconnected, retrying"
        following = list_and_watch(self.read, self._watch, revision, log=_LOG, failed=failed, resource=self._resource)
        self._task = asyncio.create_task(following, name=f"{self._resource}-informer")

    async def close(self) -> None:
        """Stop the watch."""
        if self._task is not None:
            await end_tasks(self._task)

    async def read(self) -> int:
        """Take the listed objects for all objects. Return the revision of the list. Raises as `start`."""
        raise NotImplementedError

    def apply(self, event: Event) -> None:
        """Take a change, or a bookmark."""
        raise NotImplementedError

    async def _watch(self, revision: int) -> None:
        """Apply watch events until the watch ends."""
        options = WatchOptions(resource_version=str(revision), allow_bookmarks=True)
        await pass_events(await self.store.watch("", self._codec, options), self.apply)
