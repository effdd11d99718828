"""Conversion strategy Webhook (conversion/webhook_converter.go)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta import unstructured
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.field import Path, aggregate
from apiext.base.meta.gvk import parse_group_version
from apiext.base.meta.limits import MAX_CONVERSION_FAILURES, MAX_DEPTH, MAX_HOOK_ERROR_CHARACTERS
from apiext.base.meta.objectmeta.validation import validate_annotations, validate_labels
from apiext.base.random_uuid import random_uuid
from apiext.base.scheduling.time_slice import Pace
from apiext.base.webhook.hook_answers import HookError
from apiext.base.webhook.review_type import HookReviewError
from apiext.resources.conversion import metrics, review
from apiext.resources.conversion.calls import LoggedCalls, WebhookCall
from apiext.resources.conversion.interface import ConversionError, Converter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.scheduling.call_log import CallLog
    from apiext.resources.conversion.calls import ConversionCalls, WebhookAnswer
    from apiext.resources.conversion.interface import Converted


_SAME: Final = (("name", "name"), ("namespace", "namespace"), ("uid", "UID"))
"""Members of metadata that a webhook must not change, with their names in errors."""
_LABELS: Final = Path("metadata", "labels")
_ANNOTATIONS: Final = Path("metadata", "annotation")
"""Types as the reference names them."""


def check_converted(original: Object, converted: Any, api_version: str) -> Object:
    """Return a converted object with its own labels and annotations and otherwise the original's metadata. It may share members.

    Raises:
        ConversionError: it is not the same object in the named version. The text follows the reference's prefix.
    """
    wrong = f"conversion webhook for {group_version_kind(original)} returned invalid"
    obj = _object(converted)
    if _version_of(obj) != api_version:
        raise ConversionError(f"{wrong} object at index 0: invalid groupVersion (expected {api_version}, received {_version_of(obj)})")
    if obj.get("kind") != original.get("kind"):
        raise ConversionError(f"{wrong} object at index 0: invalid kind (expected {original.get('kind')}, received {obj.get('kind')})")
    for member, name in _SAME:
        expected, found = _text(original, member), _text(obj, member)
        if expected != found:
            raise ConversionError(f"{wrong} object: must have the same {name}: {expected} != {found}")
    try:
        obj["metadata"] = _restored(original, obj)
    except ValueError as error:
        raise ConversionError(f"{wrong} metadata: {error}") from error
    return obj


def group_version_kind(obj: Object) -> str:
    """Return apiVersion and kind as errors name them."""
    return f"{obj.get('apiVersion')}, Kind={obj.get('kind')}"


def _object(value: Any) -> Object:
    """Return a member of convertedObjects as an object with a kind."""
    if value is None:
        raise ConversionError("unexpected end of JSON input")
    if not isinstance(value, dict):
        kind = {str: "string", bool: "bool", list: "array"}.get(type(value), "number")
        raise ConversionError(f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
    if json_values.is_deeper(value, MAX_DEPTH):
        raise ConversionError(f"a converted object must not be nested deeper than {MAX_DEPTH} levels")
    # the reference sees no kind where it cannot parse apiVersion
    if not _string(value.get("kind")) or _version_of(value) is None:
        raise ConversionError(f"Object 'Kind' is missing in '{json_codec.dumps(value, sort_keys=False).decode()}'")
    return value


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _version_of(obj: Object) -> str | None:
    """Return an object's apiVersion, None for a malformed one."""
    api_version = _string(obj.get("apiVersion"))
    try:
        parse_group_version(api_version)
    except ValueError:
        return None
    return api_version


def _text(obj: Object, member: str) -> str:
    metadata = obj.get("metadata")
    return _string(metadata.get(member)) if isinstance(metadata, dict) else ""


def _restored(original: Object, converted: Object) -> Object:
    """Return the metadata of a converted object. Raises ValueError for an invalid one."""
    if "metadata" not in converted:
        raise ValueError("missing metadata in converted object")
    returned = converted["metadata"]
    if not isinstance(returned, dict):
        raise ValueError(f"invalid metadata of type {unstructured.type_name(returned)} in converted object")  # noqa: TRY004
    metadata: Object = dict(original.get("metadata", {}))
    for name in ("labels", "annotations"):
        found = returned.get(name)
        if found is None:
            metadata.pop(name, None)
            continue
        if not isinstance(found, dict):
            raise ValueError(f"invalid metadata.{name} of type {unstructured.type_name(found)} in converted object")  # noqa: TRY004
        _check_texts(name, found, metadata.get(name) or {})
        metadata[name] = found
    return metadata


def _check_texts(name: str, texts: dict[str, Any], before: dict[str, str]) -> None:
    """Check labels or annotations that the webhook changed. Raises ValueError."""
    for key, text in texts.items():
        if not isinstance(text, str):
            raise ValueError(f"metadata.{name}[{key}] must be a string, but is {unstructured.type_name(text)} in converted object")  # noqa: TRY004
    if texts == before:
        return
    errors = validate_labels(texts, _LABELS) if name == "labels" else validate_annotations(texts, _ANNOTATIONS)
    found = list(errors)
    if found:
        raise ValueError(aggregate(found))


class _CallError(Exception):
    """A call failed as a whole. Its text follows the reference's prefix."""

    def __init__(self, text: str, failure: str, *, divisible: bool = True) -> None:
        super().__init__(text[:MAX_HOOK_ERROR_CHARACTERS])
        self.failure = failure
        self.divisible = divisible
        """Whether a call with fewer objects may succeed."""


@dataclass(slots=True)
class _Progress:
    """The calls of one conversion, and the objects that they could not convert."""

    calls: ConversionCalls
    made: int = 0
    refused: int = 0
    last: str = ""
    """The text of the latest error. The error itself would be a reference cycle through its traceback."""


class WebhookConverter(Converter):
    """Sends all objects to the webhook of their definition in one call.

    If a call fails, its halves are sent again. The results equal those of the reference, which makes a call for each object.
    """

    def __init__(self, name: str, conversion: Mapping[str, Any], calls: ConversionCalls) -> None:
        """Create the converter for a definition's name and spec.conversion. `calls` calls its webhook."""
        self.conversion = conversion
        self._calls = calls
        self._name = name
        self._review_version = review.review_version(conversion["webhook"].get("conversionReviewVersions") or ())

    @property
    def calls(self) -> ConversionCalls:
        """See Converter.calls."""
        return self._calls

    async def convert(self, objects: Sequence[Object], api_version: str, log: CallLog | None = None) -> Sequence[Converted]:
        """Implement Converter.convert."""
        results: list[Converted] = list(objects)
        sent = [place for place, obj in enumerate(objects) if not _is_empty(obj)]
        for obj in filter(_is_empty, objects):
            obj["apiVersion"] = api_version
        if self._review_version is None:
            for place in sent:
                results[place] = ConversionError("no supported conversion review versions")
        elif sent:
            progress = _Progress(self._calls if log is None else LoggedCalls(self._calls, log))
            converted = await self._divided([objects[place] for place in sent], api_version, progress)
            for place, result in zip(sent, converted, strict=True):
                results[place] = result
        return results

    async def _divided(self, objects: Sequence[Object], api_version: str, progress: _Progress) -> list[Converted]:
        """Convert objects by one call, or by two that each get half of them."""
        if progress.refused >= MAX_CONVERSION_FAILURES:
            return [_failed(obj, progress.last) for obj in objects]
        progress.made += 1
        number, begun, uid = progress.made, time.monotonic(), random_uuid()
        body = review.encode(self._review_version or "", uid, objects, api_version)
        answer = await progress.calls.post(WebhookCall(number, uid, begun, body))
        try:
            results = await self._read(answer, objects, api_version)
        except _CallError as error:
            await progress.calls.observe(number, self._outcome(objects, api_version, error.failure, answer.begun))
            if len(objects) > 1 and error.divisible:
                middle = len(objects) // 2
                first = await self._divided(objects[:middle], api_version, progress)
                return first + await self._divided(objects[middle:], api_version, progress)
            progress.refused += len(objects)
            progress.last = str(error)
            return [_failed(obj, progress.last) for obj in objects]
        invalid = any(isinstance(result, ConversionError) for result in results)
        await progress.calls.observe(number, self._outcome(objects, api_version, metrics.INVALID_OBJECT if invalid else "", answer.begun))
        return results

    async def _read(self, answer: WebhookAnswer, objects: Sequence[Object], api_version: str) -> list[Converted]:
        """Return the objects in an answer, checked. Raises _CallError."""
        version = self._review_version or ""
        if answer.error is not None:
            divisible = isinstance(answer.error, HookError) and answer.error.answered
            raise _CallError(f"failed: {answer.error}", metrics.CALL_FAILURE, divisible=divisible)
        try:
            document = await review.decode(version, answer.data)
        except HookReviewError as error:
            raise _CallError(f"failed: {error}", metrics.CALL_FAILURE) from error
        try:
            found = review.converted_objects(version, answer.uid, document)
        except HookReviewError as error:
            raise _CallError(f"failed: {error}", metrics.MALFORMED_RESPONSE) from error
        if len(found) != len(objects):
            raise _CallError(f"returned {len(found)} objects, expected {len(objects)}", metrics.PARTIAL_RESPONSE)
        return await _checked(objects, found, api_version)

    def _outcome(self, objects: Sequence[Object], api_version: str, failure: str, begun: float) -> metrics.ConversionOutcome:
        sources, target = {obj["apiVersion"].rpartition("/")[2] for obj in objects}, api_version.rpartition("/")[2]
        return metrics.ConversionOutcome(self._name, sources, target, failure, time.monotonic() - begun)


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
