"""Rendering of many stored objects after one conversion of them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta import errors
from apiext.base.scheduling.time_slice import Pace
from apiext.base.scheduling.tracebacks import without_frames
from apiext.storage.errors import RENDERING_ERRORS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog
    from apiext.storage.codec_conversion import Conversion
    from apiext.storage.interface import Codec, RenderResult
    from apiext.storage.rendering.renderer import Renderer

StoredBytes = tuple[str, bytes, int]
"""The key of an object, relative to its resource, its stored bytes, and its revision."""


async def render_all(renderer: Renderer, codec: Codec, stored: Sequence[StoredBytes], log: CallLog | None = None) -> list[RenderResult]:
    """Return the renderings of stored objects; in the place of one that fails stands its error. Webhooks are called by the log."""
    pace = Pace()
    results: dict[int, RenderResult] = {}
    decoded: dict[int, Object] = {}
    for place, (key, data, revision) in enumerate(stored):
        try:
            if codec.conversion is None:
                results[place] = renderer.item(codec, key, data, revision)
            else:
                decoded[place] = renderer.decode(codec, key, data, revision)
        except RENDERING_ERRORS as error:
            # with this frame it would be a reference cycle
            results[place] = without_frames(error)
        if pace.due:
            await pace.pause()
    if codec.conversion is not None and decoded:
        converted = await _converted(codec.conversion, list(decoded.values()), log)
        for place, obj in zip(decoded, converted, strict=True):
            key, _, revision = stored[place]
            results[place] = _rendered(renderer, codec, key, obj, revision)
            if pace.due:
                await pace.pause()
    return [results[place] for place in range(len(stored))]


async def _converted(
    conversion: Conversion, objects: Sequence[Object], log: CallLog | None
) -> Sequence[Object | ValueError | errors.StatusError]:
    try:
        return await conversion.from_storage(objects, log)
    except errors.StatusError as error:
        return [error] * len(objects)


def _rendered(renderer: Renderer, codec: Codec, key: str, obj: Object | ValueError | errors.StatusError, revision: int) -> RenderResult:
    if isinstance(obj, errors.StatusError):
        return obj
    if isinstance(obj, ValueError):
        return renderer.corrupt(key, revision, obj)
    try:
        return renderer.render(codec, key, obj, revision)
    except RENDERING_ERRORS as error:
        return error
