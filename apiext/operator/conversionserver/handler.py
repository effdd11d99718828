"""Answers conversion reviews."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from apiext.api.endpoints.handlers.body import read_body
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.endpoints.responsewriters.status import text_reply
from apiext.api.endpoints.serializers.negotiation import JSON
from apiext.base.meta.errors import StatusError
from apiext.base.scheduling.inline_work import InlineWork
from apiext.base.scheduling.side_thread import aside
from apiext.base.scheduling.time_slice import Pace
from apiext.operator.conversionserver import review
from apiext.operator.conversionserver.review import MalformedReviewError, ReviewRequest
from apiext.resources.conversion.interface import ConversionError
from apiext.resources.conversion.metrics import ConversionOutcome
from apiext.server.http.connection import HTTPConnection

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.operator.conversionserver.conversions import CompiledConversion, Conversions
    from apiext.resources.conversion.metrics import ConversionStats

PATH: Final = "/convert"
MAX_BYTES: Final = 64 << 20
"""Bytes of a review: more than the stored objects of a page of a list by far."""
MAX_BYTES_AT_ONCE: Final = 4 * MAX_BYTES
"""Bytes of all reviews under way. One that needs more is refused; kube-apiserver's own requests are limited."""
BODY_SECONDS: Final = 30.0
"""Seconds for a body to arrive; kube-apiserver waits as long for the whole answer."""
_FAILED: Final = "refused"


class ReviewHandler:
    """Handles POST of a review: all of its objects are converted, or none is."""

    def __init__(self, conversions: Conversions, stats: ConversionStats) -> None:
        self._conversions = conversions
        self._stats = stats
        self._bytes = 0

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Return the answered review, or an HTTP error for what is no review."""
        if request.method != "POST":
            return text_reply("a conversion review is a POST", status=405, headers={"Allow": "POST"})
        if request.content_type != JSON:
            return text_reply(f"the body must be {JSON}", status=415)
        size = min(request.content_length or MAX_BYTES, MAX_BYTES)
        if self._bytes + size > MAX_BYTES_AT_ONCE:
            return text_reply("too many reviews are under way", status=429, headers={"Retry-After": "1"})
        self._bytes += size
        try:
            async with asyncio.timeout(BODY_SECONDS):
                data = await read_body(request, MAX_BYTES)
            found = await review.read_review(data)
            # nobody authenticates here: idle connections make room before those of kube-apiserver
            if isinstance(request.protocol, HTTPConnection):
                request.protocol.renew_place()
            return await self._answer(found)
        except TimeoutError:
            return text_reply("the body did not arrive in time", status=408)
        except StatusError as error:
            return text_reply(error.message, status=error.code)
        except MalformedReviewError as error:
            return text_reply(str(error), status=400)
        finally:
            self._bytes -= size

    async def _answer(self, found: ReviewRequest) -> Reply:
        try:
            converted = await self._converted(found)
        except ConversionError as error:
            return Reply(review.failure(found, str(error)))
        return Reply(await review.success(found, converted))

    async def _converted(self, found: ReviewRequest) -> list[Object]:
        """Return the converted objects of a review. Raises ConversionError if one of them cannot be converted."""
        pace, objects, begun = Pace(), [], time.monotonic()
        seen: dict[str, set[str]] = {}
        failure = _FAILED
        try:
            for one in found.objects:
                compiled = self._rules(one, found)
                seen.setdefault(compiled.name, set()).add(one["apiVersion"].rpartition("/")[2])
                objects.append(await _convert(one, found.target, compiled))
                if pace.due:
                    await pace.pause()
            failure = ""
        finally:
            seconds, target = time.monotonic() - begun, found.target.rpartition("/")[2]
            for name, sources in seen.items():
                self._stats.observe(ConversionOutcome(name, sources, target, failure, seconds))
        return objects

    def _rules(self, one: Any, found: ReviewRequest) -> CompiledConversion:
        """Return the rules for an object. Raises ConversionError without any."""
        problem = review.object_problem(one, found.group)
        if problem:
            raise ConversionError(f"{review.name_of(one)}: {problem}")
        compiled = self._conversions.find(found.group, one["kind"])
        if compiled is None:
            raise ConversionError(f"{review.name_of(one)}: no Conversion object describes the versions of {one['kind']}.{found.group}")
        return compiled


async def _convert(one: Object, target: str, compiled: CompiledConversion) -> Object:
    """Return a converted object. A thread does what takes too long for the event loop. Raises ConversionError."""
    converter, source = compiled.converter, one["apiVersion"]
    if not compiled.converts:
        raise ConversionError(f"{review.name_of(one)}: the rules of Conversion {compiled.name} cannot be used: {compiled.problem}")
    if source == target:
        return one
    before = one.copy()
    try:
        with InlineWork():
            return converter.convert_inline(one, target)
        return await aside(partial(converter.convert_inline, before, target))
    except ConversionError as error:
        raise _failed(one, source, target, error) from error


def _failed(one: Object, source: str, target: str, error: ConversionError) -> ConversionError:
    return ConversionError(f"{review.name_of(one)} of {source} cannot be converted to {target}: {error}")
