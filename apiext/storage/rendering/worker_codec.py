"""The copy of a codec in worker processes, which renders large objects beside the event loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.base.workers.restarts import RestartableJob
from apiext.storage.errors import CorruptObjectError
from apiext.storage.rendering.renderer import Renderer
from apiext.storage.rendering.version_view import render_all

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.workers.pool import WorkerPool
    from apiext.base.workers.server_link import Answers, ServerLink
    from apiext.storage.interface import Codec, RenderResult, StoredBytes


@dataclass(frozen=True, slots=True, eq=False)
class WorkerCodec:
    """Implements RemoteCodec: how worker processes make their copy of a codec, and what they may call in the server."""

    workers: WorkerPool
    build: Callable[[ServerLink, Any], Codec]
    """Makes the codec for the place. A function of a module."""
    place: Any
    """Names the codec and its state; small."""
    answers: Callable[[CallLog | None], Answers]
    """Returns what a job may call, and calls webhooks by the log. Refers to no codec: an unused one must be garbage at once."""

    def job(self, prefix: str, stored: Sequence[StoredBytes]) -> WorkerRendering:
        """Implement RemoteCodec.job."""
        return WorkerRendering(self, prefix, stored)

    async def check(self, prefix: str, stored: StoredBytes) -> CorruptObjectError | None:
        """Implement RemoteCodec.check."""
        return await self.workers.converse(_check, self.build, self.place, prefix, stored, answers=self.answers(None), kind=self.place)


class WorkerRendering(RestartableJob):
    """Implements RenderingJob."""

    def __init__(self, codec: WorkerCodec, prefix: str, stored: Sequence[StoredBytes]) -> None:
        super().__init__(codec.workers)
        self._codec = codec
        self._prefix = prefix
        self._stored = stored

    async def run(self) -> list[RenderResult]:
        """Implement RenderingJob.run."""
        codec = self._codec
        return await self.converse(_render, codec.build, codec.place, self._prefix, self._stored, answers=codec.answers, kind=codec.place)


async def _render(
    link: ServerLink, build: Callable[[ServerLink, Any], Codec], place: Any, prefix: str, stored: Sequence[StoredBytes]
) -> list[RenderResult]:
    return await render_all(Renderer(prefix), build(link, place), stored)


async def _check(
    link: ServerLink, build: Callable[[ServerLink, Any], Codec], place: Any, prefix: str, stored: StoredBytes
) -> CorruptObjectError | None:
    try:
        Renderer(prefix).decode(build(link, place), *stored)
    except CorruptObjectError as error:
        return error
    return None
