"""Patches in the answers of mutating webhooks (callAttrMutatingHook of apiserver plugin/webhook/mutating/dispatcher.go)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.api.admission.webhooks.review_response import JSON_PATCH
from apiext.base.meta import errors
from apiext.base.meta.encoding import json_codec, json_values
from apiext.base.meta.encoding.json_syntax import syntax_error, with_replacements
from apiext.base.meta.errors import StatusError
from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_INLINE_BYTES, MAX_INLINE_COPIES
from apiext.base.meta.patch import PatchError, apply_operations, parse_json_patch
from apiext.base.scheduling.inline_work import current_work
from apiext.base.scheduling.side_thread import aside

if TYPE_CHECKING:
    from apiext.api.admission.webhooks.review_response import ReviewResponse
    from apiext.api.admission.webhooks.versioned_objects import VersionedObjects
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.patch import Operations

_COPY: Final = b'"copy"'
_UNDECODABLE: Final = "received undecodable patch in webhook response"


class UndecodablePatchError(ValueError):
    """A patch is no JSON patch: the webhook's failurePolicy decides. The text is the reference's."""


async def patched(hook: str, response: ReviewResponse, objects: VersionedObjects) -> Object | None:
    """Return a changed copy of the new object, None if the answer has no operations.

    Raises:
        UndecodablePatchError: the patch is invalid.
        StatusError: 500, the patch does not apply.
    """
    if not response.patch:
        return None
    # each copy can double the object
    copies = response.patch.count(_COPY)
    if len(response.patch) > MAX_INLINE_BYTES or copies > MAX_INLINE_COPIES:
        current_work().check_size(copies, MAX_INLINE_COPIES)
        return await aside(lambda: _patched(hook, response, objects))
    return _patched(hook, response, objects)


def _patched(hook: str, response: ReviewResponse, objects: VersionedObjects) -> Object | None:
    operations = _operations(response.patch)
    if not operations:
        return None
    if objects.new is None:
        name = formatting.quote(hook)
        raise errors.internal(f"admission webhook {name} attempted to modify the object, which is not supported for this operation")
    if response.patch_type != JSON_PATCH:
        raise UndecodablePatchError(f"unsupported patch type {formatting.quote(response.patch_type)}")
    try:
        found: Object = apply_operations(objects.new, operations)
    except PatchError as error:
        raise errors.internal(str(error)) from error
    return found


def parse_patch(patch: bytes) -> Any:
    """Return the value of a patch, whose texts need not be UTF-8.

    Raises:
        UndecodablePatchError: it is no JSON.
    """
    try:
        return json_codec.loads(patch)
    except ValueError:
        problem = syntax_error(patch)
    try:
        if not problem:
            return json_codec.loads(with_replacements(patch))
    except ValueError:
        problem = "json: cannot unmarshal a number beyond float64"
    raise UndecodablePatchError(f"{_UNDECODABLE}: {problem}")


def _operations(patch: bytes) -> Operations:
    document = parse_patch(patch)
    try:
        return parse_json_patch(document, strict=False)[0]
    except StatusError as error:
        raise UndecodablePatchError(f"{_UNDECODABLE}: {error.message}") from None


def is_changed(before: Object | None, after: Object) -> bool:
    """Return whether a patch has changed an object."""
    return not json_values.equal(before, after)
