"""The copy of a codec in worker processes, which renders large objects beside the event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.storage.rendering import RENDERING_ERRORS, Renderer

if TYPE_CHECKING:
    from apiext.storage.interface import Codec
    from apiext.storage.rendering import RenderResult
    from apiext.workers.link import ServerLink
    from apiext.workers.pool import WorkerPool


@dataclass(frozen=True, slots=True, eq=False)
class RemoteCodec:
    """How worker processes make their copy of a codec, and what the server answers them."""

    build: Callable[[ServerLink, Any], Codec]
    """Makes the codec for the place. A function of a module."""
    place: Any
    """Names the codec and its state; small."""
    answers: Mapping[str, Callable[..., Awaitable[Any]]]

    async def render(self, workers: WorkerPool, prefix: str, key: str, data: bytes, revision: int) -> RenderResult:
        """Render stored bytes as `Renderer.item`.

        Raises:
            StatusError: the worker process failed.
        """
        result: RenderResult = await workers.converse(_render, self.build, self.place, prefix, key, data, revision, answers=self.answers)
        return result


async def _render(
    link: ServerLink, build: Callable[[ServerLink, Any], Codec], place: Any, prefix: str, key: str, data: bytes, revision: int
) -> RenderResult:
    try:
        return Renderer(prefix).item(build(link, place), key, data, revision)
    except RENDERING_ERRORS as error:
        return error
