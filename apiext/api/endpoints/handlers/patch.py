"""PATCH of an object: JSON patch, JSON merge patch, server-side apply and, for built-in kinds, strategic merge patch.

Mirrors apiserver pkg/endpoints/handlers/patch.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from aiohttp import web

from apiext.api.endpoints.handlers.body import YAML_PREFIX, decode_parsed, identify, read_body, strict_text
from apiext.api.endpoints.handlers.object_response import item_reply
from apiext.api.endpoints.handlers.strategic_merge import strategic_merge
from apiext.api.endpoints.handlers.write import WriteSteps, perform_or_create
from apiext.api.endpoints.parameters.options import IGNORE, WARN, write_options
from apiext.api.endpoints.request import SERVES_CBOR, required_name
from apiext.api.endpoints.scopes.dialect import APPLY_PATCHES, CBOR_APPLY_PATCH, JSON_PATCH, MERGE_PATCH
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.scopes.write_call import WriteCall, write_call
from apiext.api.endpoints.serializers.apply_configuration import FROM_YAML, parse_cbor_configuration, parse_configuration
from apiext.api.endpoints.serializers.negotiation import negotiate_output, unsupported_media_type
from apiext.base.meta import errors, patch, unstructured
from apiext.base.meta.encoding import json_codec, json_decoder, json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.encoding.json_decoder import BodyDecodeError, DepthError
from apiext.base.meta.encoding.json_syntax import with_replacements
from apiext.base.meta.field import Path, invalid
from apiext.base.meta.golang import formatting
from apiext.base.meta.gvk import GroupKind
from apiext.base.meta.limits import MAX_INLINE_COPIES
from apiext.storage.interface import Item

_NO_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")
Change = Callable[["Object"], Any]
"""Applies a patch to an object and returns the result."""


async def patch_object(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Apply the patch in the body to the object. Return the result with 200, or 201 if it was created.

    Raises:
        StatusError: the patch is invalid, can not be applied, or its result is rejected.
    """
    patch_type = _patch_type(request, scope)
    required_name(request)
    media = negotiate_output(request, scope.dialect.offers)
    data = await read_body(request, scope.dialect.max_body)
    applies = patch_type in APPLY_PATCHES
    query = write_options(request, "PatchOptions", apply=applies)
    # Nested copies grow exponentially.
    heavy = patch_type == JSON_PATCH and data.count(b"copy") > MAX_INLINE_COPIES
    call = write_call(request, query, patch_type, data, manager=query.field_manager)
    creates = applies and not scope.subresource
    item, created = await perform_or_create(request, scope, patch_stored, call, creates=creates, heavy=heavy)
    return await item_reply(request, scope, media, item, status=201 if created else 200)


async def patch_stored(scope: Scope, call: WriteCall) -> tuple[Item, bool]:
    """Patch an object, or create a missing one if the call `creates` it. Return it, and whether it was created. The caller authorizes.

    Raises:
        StatusError: the patch is invalid, can not be applied, or its result is rejected.
    """
    steps, applies = WriteSteps(scope, call), call.media_type in APPLY_PATCHES
    try:
        return await steps.update((_Applier if applies else _Patcher)(scope, call, steps), keep_managers=applies)
    except RecursionError as error:
        # only objects from kube-apiserver or an older version can be that deep
        raise patch.too_deep() from error


def _patch_type(request: web.BaseRequest, scope: Scope) -> str:
    """Return the patch's media type. Raise StatusError (415) if the endpoint does not support it."""
    patch_type = request.headers.get("Content-Type", "").partition(";")[0]
    known = (*scope.dialect.patch_types, CBOR_APPLY_PATCH) if SERVES_CBOR in request else scope.dialect.patch_types
    if patch_type not in known:
        if scope.dialect.message is not None:
            # go-restful answers for the routes of built-in kinds
            raise errors.StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        raise unsupported_media_type(known)
    return patch_type


class _Patcher:
    """Makes the new object of a patch."""

    __slots__ = ("_call", "_change", "_document", "_patch_strict", "_scope", "_steps", "_strategic_text")

    def __init__(self, scope: Scope, call: WriteCall, steps: WriteSteps) -> None:
        """Read the patch of a call. Raise StatusError (400) if it is no JSON, or nested too deeply."""
        try:
            self._document: Any = json_decoder.parse(call.data)
        except DepthError as error:
            raise errors.bad_request(f"the patch is {error}") from error
        except BodyDecodeError as error:
            raise errors.bad_request("invalid JSON patch") from error
        self._scope = scope
        self._call = call
        self._steps = steps
        self._change: Change | None = None
        """Made in the first attempt."""
        self._strategic_text: str | None = None
        self._patch_strict: Sequence[str] = ()
        if call.record is not None and call.record.with_body:
            # line breaks in JSON are never inside strings, and an event is one line
            call.record.take_body(with_replacements(call.data).translate(_NO_BREAKS))

    async def __call__(self, existing: Object) -> Object:
        """Return the patched object, with its managers.

        Raises:
            StatusError: the patch or its result is invalid.
        """
        call = self._call
        if not (existing.get("metadata") or {}).get("uid"):
            raise errors.not_found(self._scope.resource.group_resource, call.name)
        if self._change is None:
            self._change = self._parse()
        obj = self._decode(self._change, self._patched(existing))
        await self._scope.fields.update(existing, obj, call.manager)
        self._steps.match(obj, call.name)
        return obj

    def _patched(self, existing: Object) -> Object:
        """Return what the patch applies to: its result shares members with it, and gets defaults in place."""
        if self._scope.codec.cbor:
            # the reference patches the object's JSON, which has no floats with whole values
            read: Object = json_codec.loads(json_codec.dumps(existing))
            return read
        # in the version that is stored, the existing object has all defaults
        copied: Object = json_values.copy(existing) if self._scope.converts else existing
        return copied

    def _parse(self) -> Change:
        strict, patch_type = self._call.query.field_validation != IGNORE, self._call.media_type
        if patch_type == JSON_PATCH:
            operations, unknown = patch.parse_json_patch(self._document, strict=strict)
            duplicates = json_decoder.duplicate_fields(self._call.data, operations) if strict else []
            self._patch_strict = [f"json patch {text}" for text in (*duplicates, *unknown)]
            return lambda existing: patch.json_patch(existing, operations)
        if patch_type == MERGE_PATCH:
            document = patch.parse_merge_patch(self._document, strict=strict)
        else:
            document = patch.parse_strategic_patch(self._document)
        self._patch_strict = json_decoder.duplicate_fields(self._call.data, document) if strict else []
        if patch_type == MERGE_PATCH:
            return lambda existing: patch.merge_patch(existing, document)
        self._strategic_text = unstructured.go_string(document)
        keys = self._scope.dialect.strategic_keys
        return lambda existing: strategic_merge(existing, document, keys)

    def _decode(self, change: Change, existing: Object) -> Object:
        patched = change(existing)
        if self._scope.dialect.typed:
            patched = _sorted(patched)
        unknown: list[str] = []
        if self._scope.dialect.typed and self._scope.subresource != "scale":
            patched, unknown = self._as_typed(patched)
        # Errors contain it only if it has no kind.
        text = b"" if type(patched) is dict and patched.get("kind") else json_codec.dumps(patched)
        try:
            obj, _ = identify(self._scope, patched, text)
            strict = unknown or decode_parsed(self._scope, obj, self._call.query.field_validation)
        except ValueError as error:
            raise _invalid_result(self._result(change, existing), str(error)) from error
        strict = [*self._patch_strict, *strict]
        if strict and self._call.query.field_validation == WARN:
            self._call.warnings.extend(strict)
        elif strict and self._call.query.field_validation != IGNORE:
            raise _invalid_result(self._result(change, existing), strict_text(strict))
        return obj

    def _as_typed(self, patched: Any) -> tuple[Any, list[str]]:
        """Return the input of the reference's decoder of a built-in kind, and messages about unknown fields."""
        named = {"kind": self._scope.kind.kind, "apiVersion": self._scope.api_version}
        if self._strategic_text is not None:
            # The reference decodes it to the endpoint's kind, regardless of its own kind.
            return patched | named, []
        if type(patched) is not dict or patched.get("apiVersion"):
            return patched, []
        # Without a version the reference decodes it to a type with a kind only.
        return named, [f"unknown field {formatting.quote(name)}" for name in patched if name not in named]

    def _result(self, change: Change, existing: Object) -> str:
        """Return the value for errors: a strategic merge patch, or else a fresh result, since decoding changed the first one."""
        return json_codec.dumps(change(existing)).decode() if self._strategic_text is None else self._strategic_text


def _sorted(value: Any) -> Any:
    """Return a JSON value with sorted members: the reference encodes the result and decodes it again."""
    if type(value) is dict:
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if type(value) is list else value


def _invalid_result(shown: str, reason: str) -> errors.StatusError:
    """Return the 422 for a patch whose result is not an object of the kind."""
    return errors.invalid(GroupKind("", ""), "", [invalid(Path("patch"), shown, reason)])


class _Applier:
    """Makes the new object of an apply: merges the configuration into the existing object."""

    __slots__ = ("_call", "_parsed", "_scope", "_steps")

    def __init__(self, scope: Scope, call: WriteCall, steps: WriteSteps) -> None:
        """Take a call. The reference parses the configuration for the audit event before it reads the object."""
        self._scope = scope
        self._call = call
        self._steps = steps
        self._parsed: tuple[Object, list[str]] | None = None
        if call.record is not None and call.record.with_body:
            # __call__ raises it again
            with suppress(errors.StatusError):
                call.record.take_body(json_codec.dumps(self._parse()[0], sort_keys=False))

    async def __call__(self, existing: Object) -> Object:
        """Return the existing object with the configuration merged into it, or a new one, with its managers.

        Raises:
            StatusError: the configuration is invalid, or in conflict with other managers.
        """
        scope, call = self._scope, self._call
        configuration, duplicates = self._parse()
        obj = await scope.fields.apply(existing, configuration, call.manager, force=call.query.force)
        self._report(duplicates)
        if obj["metadata"].get("uid") and not (existing.get("metadata") or {}).get("uid"):
            why = f"uid mismatch: the provided object specified uid {obj['metadata']['uid']}, and no existing object was found"
            raise errors.conflict(scope.resource.group_resource, call.name, why)
        self._steps.match(obj, call.name)
        return obj

    def _parse(self) -> tuple[Object, list[str]]:
        """Return the configuration, and messages about its duplicate keys. Raises StatusError (400)."""
        if self._parsed is None:
            data = self._call.data
            is_cbor = self._call.media_type == CBOR_APPLY_PATCH
            self._parsed = (parse_cbor_configuration(data), []) if is_cbor else parse_configuration(data)
        return self._parsed

    def _report(self, duplicates: list[str]) -> None:
        """Report duplicate keys as the field validation demands. Raise StatusError (400) if it is Strict."""
        validation = self._call.query.field_validation
        if not duplicates or validation == IGNORE:
            return
        if validation == WARN:
            self._call.warnings.extend(message.strip() for message in duplicates)
            return
        raise errors.bad_request(f"error strict decoding patch: {FROM_YAML}{YAML_PREFIX}" + "\n".join(duplicates))
