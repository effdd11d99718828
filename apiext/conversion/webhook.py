"""Conversion strategy Webhook (conversion/webhook_converter.go)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.conversion import metrics, review
from apiext.conversion.converted_object import check_converted, group_version_kind
from apiext.conversion.interface import ConversionError
from apiext.conversion.remote import answers_of
from apiext.meta.limits import MAX_CONVERSION_FAILURES, MAX_HOOK_ERROR_CHARACTERS
from apiext.scheduling.time_slice import Pace
from apiext.webhook.hook_client import HookError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from apiext.conversion.calls import ConversionCalls
    from apiext.conversion.interface import Converted
    from apiext.meta.encoding.json_codec import Object


class _CallError(Exception):
    """A call failed as a whole. Its text follows the reference's prefix."""

    def __init__(self, text: str, failure: str, *, divisible: bool = True) -> None:
        super().__init__(text[:MAX_HOOK_ERROR_CHARACTERS])
        self.failure = failure
        self.divisible = divisible
        """Whether a call with fewer objects may succeed."""


@dataclass(slots=True)
class _Refusals:
    """The objects that calls of one conversion could not convert."""

    count: int = 0
    last: str = ""
    """The text of the latest error. The error itself would be a reference cycle through its traceback."""


class WebhookConverter:
    """Implements CopiedConverter: sends all objects to the webhook of their definition in one call.

    If a call fails, its halves are sent again. The results equal those of the reference, which makes a call for each object.
    """

    def __init__(self, name: str, conversion: Mapping[str, Any], calls: ConversionCalls) -> None:
        """Create the converter for a definition's name and spec.conversion. `calls` calls its webhook."""
        self.conversion = conversion
        self._name = name
        self._calls = calls
        self._review_version = review.review_version(conversion["webhook"].get("conversionReviewVersions") or ())

    def answers(self) -> Mapping[str, Callable[..., Awaitable[Any]]]:
        """Implement CopiedConverter.answers."""
        return answers_of(self._calls)

    async def convert(self, objects: Sequence[Object], api_version: str) -> Sequence[Converted]:
        """Implement Converter.convert."""
        results: list[Converted] = list(objects)
        sent = [place for place, obj in enumerate(objects) if not _is_empty(obj)]
        for obj in filter(_is_empty, objects):
            obj["apiVersion"] = api_version
        if self._review_version is None:
            for place in sent:
                results[place] = ConversionError("no supported conversion review versions")
        elif sent:
            converted = await self._divided([objects[place] for place in sent], api_version, _Refusals())
            for place, result in zip(sent, converted, strict=True):
                results[place] = result
        return results

    async def _divided(self, objects: Sequence[Object], api_version: str, refusals: _Refusals) -> list[Converted]:
        """Convert objects by one call, or by two that each get half of them."""
        if refusals.count >= MAX_CONVERSION_FAILURES:
            return [_failed(obj, refusals.last) for obj in objects]
        uid, start = await self._calls.begin()
        try:
            results = await self._call(uid, objects, api_version)
        except _CallError as error:
            await self._observe(objects, api_version, error.failure, start)
            if len(objects) > 1 and error.divisible:
                middle = len(objects) // 2
                first = await self._divided(objects[:middle], api_version, refusals)
                return first + await self._divided(objects[middle:], api_version, refusals)
            refusals.count += len(objects)
            refusals.last = str(error)
            return [_failed(obj, refusals.last) for obj in objects]
        invalid = any(isinstance(result, ConversionError) for result in results)
        await self._observe(objects, api_version, metrics.INVALID_OBJECT if invalid else "", start)
        return results

    async def _call(self, uid: str, objects: Sequence[Object], api_version: str) -> list[Converted]:
        """Return the objects that the webhook answers with, checked. Raises _CallError."""
        version = self._review_version or ""
        try:
            data = await self._calls.post(review.encode(version, uid, objects, api_version))
            answer = await review.decode(version, data)
        except HookError as error:
            raise _CallError(f"failed: {error}", metrics.CALL_FAILURE, divisible=error.answered) from error
        except review.ConversionReviewError as error:
            raise _CallError(f"failed: {error}", metrics.CALL_FAILURE) from error
        try:
            found = review.converted_objects(version, uid, answer)
        except review.ConversionReviewError as error:
            raise _CallError(f"failed: {error}", metrics.MALFORMED_RESPONSE) from error
        if len(found) != len(objects):
            raise _CallError(f"returned {len(found)} objects, expected {len(objects)}", metrics.PARTIAL_RESPONSE)
        return await _checked(objects, found, api_version)

    async def _observe(self, objects: Sequence[Object], api_version: str, failure: str, start: float) -> None:
        seconds = time.monotonic() - start
        sources, target = {obj["apiVersion"].rpartition("/")[2] for obj in objects}, api_version.rpartition("/")[2]
        await self._calls.observe(metrics.ConversionCall(self._name, sources, target, failure, seconds))


def _is_empty(obj: Object) -> bool:
    """Report whether an object has only apiVersion and kind. It needs no call."""
    return len(obj) == 2 and "kind" in obj and "apiVersion" in obj


async def _checked(objects: Sequence[Object], found: Sequence[Any], api_version: str) -> list[Converted]:
    pace = Pace()
    results: list[Converted] = []
    for original, converted in zip(objects, found, strict=True):
        try:
            results.append(check_converted(original, converted, api_version))
        except ConversionError as error:
            results.append(ConversionError(str(error)[:MAX_HOOK_ERROR_CHARACTERS]))
        if pace.due:
            await pace.pause()
    return results


def _failed(obj: Object, problem: str) -> ConversionError:
    return ConversionError(f"conversion webhook for {group_version_kind(obj)} {problem}")
