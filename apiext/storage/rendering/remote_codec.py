"""The copy of a codec in worker processes, which renders large objects beside the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.storage.interface import CorruptObjectError
from apiext.storage.rendering.batch import render_all
from apiext.storage.rendering.json_rendering import Renderer
from apiext.workers.restarts import KeptAnswers, converse_again

if TYPE_CHECKING:
    from apiext.storage.interface import Codec
    from apiext.storage.rendering.batch import StoredBytes
    from apiext.storage.rendering.json_rendering import RenderResult
    from apiext.workers.pool import WorkerPool
    from apiext.workers.server_link import ServerLink


@dataclass(frozen=True, slots=True, eq=False)
class RemoteCodec:
    """How worker processes make their copy of a codec, and what the server answers them."""

    build: Callable[[ServerLink, Any], Codec]
    """Makes the codec for the place. A function of a module."""
    place: Any
    """Names the codec and its state; small."""
    answers: Mapping[str, Callable[..., Awaitable[Any]]]

    async def render(
        self, workers: WorkerPool, prefix: str, stored: Sequence[StoredBytes], kept: KeptAnswers | None = None
    ) -> list[RenderResult]:
        """Render stored objects of a resource with a key prefix, as `render_all`; `kept` has answers to an earlier attempt.

        Raises:
            StatusError: the worker process failed.
        """
        kept = kept or KeptAnswers(workers, self.answers)
        return await converse_again(workers, _render, self.build, self.place, prefix, stored, answers=kept)

    async def check(self, workers: WorkerPool, prefix: str, stored: StoredBytes) -> CorruptObjectError | None:
        """Return the error of a stored object that cannot be decoded. Raises as `render`."""
        return await workers.converse(_check, self.build, self.place, prefix, stored, answers=self.answers)


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
