"""PATCH of an object: JSON patch, JSON merge patch and, for built-in kinds, strategic merge patch.

Mirrors apiserver pkg/endpoints/handlers/patch.go. Server-side apply is not among the patches yet; it is refused with 415.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.endpoints.handlers.body import HEAVY, decode_parsed, identify, read_body, strict_text, within_known
from apiext.endpoints.handlers.context import Admitter, check_name, match_namespace, request_context, required_name
from apiext.endpoints.handlers.duplicate_fields import RepeatedFields
from apiext.endpoints.handlers.options import IGNORE, WARN, WriteQuery, manager_or_agent, write_query
from apiext.endpoints.handlers.owner_references import dedup_owner_references
from apiext.endpoints.handlers.query_parameters import parse_query
from apiext.endpoints.handlers.scope import JSON_PATCH, MERGE_PATCH
from apiext.endpoints.handlers.strategic_merge import strategic_merge
from apiext.endpoints.responsewriters.object_response import item_reply
from apiext.endpoints.serializers import json_decoder
from apiext.endpoints.serializers.json_decoder import DecodeError, NumberError
from apiext.endpoints.serializers.json_syntax import syntax_error
from apiext.endpoints.serializers.negotiation import negotiate_output, unsupported_media_type
from apiext.meta import background, deep, errors, field, go_format, json_codec, patch, unstructured
from apiext.meta.gvk import GroupKind
from apiext.registry.request_context import Operation, UpdateOptions

if TYPE_CHECKING:
    from aiohttp import web

    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.registry.request_context import RequestContext

_COPIES: Final = 8
Change = Callable[["Object"], Any]
"""What a patch makes of an object."""


async def patch_object(request: web.BaseRequest, scope: Scope) -> web.StreamResponse:
    """Apply the patch in the body to the object and answer with the result. Raises StatusError."""
    patch_type = _patch_type(request, scope)
    name = required_name(request)
    ctx = request_context(request)
    media = negotiate_output(request, scope.offers)
    data = await read_body(request, scope.max_body)
    # A few copies of copies make a document great.
    heavy = len(data) > HEAVY or (patch_type == JSON_PATCH and data.count(b"copy") > _COPIES)
    background.is_heavy.set(heavy)
    asked = write_query(parse_query(request), "PatchOptions", patch=True)
    given = await background.begin(_given, patch_type, data) if heavy else _given(patch_type, data)
    admitter = Admitter(request, scope, name=name, dry_run=asked.dry_run)
    patcher = _Patcher(scope, ctx, name, asked, given, admitter)
    options = UpdateOptions(
        dry_run=asked.dry_run,
        field_manager=manager_or_agent(asked.field_manager, request.headers.get("User-Agent", "")),
        admit=admitter.validation(Operation.UPDATE),
    )
    item, created = await scope.rest.update(ctx, name, patcher, options)
    return await item_reply(request, scope, media, item, status=201 if created else 200)


def _patch_type(request: web.BaseRequest, scope: Scope) -> str:
    """The kind of patch; raises StatusError (415) for one that the endpoint does not take."""
    patch_type = request.headers.get("Content-Type", "").partition(";")[0]
    if patch_type not in scope.patch_types:
        if scope.typed and not scope.subresource:
            raise errors.StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        raise unsupported_media_type(scope.patch_types)
    return patch_type


def _given(patch_type: str, data: bytes) -> _Patch:
    """The patch as it was sent; raises StatusError (400) for what is no JSON."""
    unread = ""
    try:
        parsed = json_decoder.parse(data)
    except NumberError as error:
        parsed, unread = error.value, str(error)
    except DecodeError as error:
        raise errors.bad_request("invalid JSON patch") from error
    try:
        json_codec.loads(data)
    except ValueError:
        return _Patch(patch_type, data, json_codec.dumps(parsed, sort_keys=False), unread)
    return _Patch(patch_type, data, data, unread)


@dataclass(frozen=True, slots=True)
class _Patch:
    """A patch as it was sent."""

    type: str
    data: bytes
    plain: bytes
    """The same as JSON that every parser takes, without odd texts; duplicate fields may be gone."""
    unread: str
    """What is said of the first number in it that no float64 can hold; "" where there is none."""

    def check_numbers(self) -> None:
        """Refuse such a number. Raises StatusError (400)."""
        if not self.unread:
            return
        if self.type == JSON_PATCH:
            raise errors.bad_request(f"error decoding patch: {self.unread.replace('Go value', 'Go struct field jsonPatchOp.value')}")
        raise errors.bad_request(f"error decoding patch: {self.unread}" if self.type == MERGE_PATCH else self.unread)


class _Patcher:
    """The updater of a PATCH; parses the patch when it is first asked."""

    __slots__ = ("_admitter", "_asked", "_change", "_ctx", "_name", "_patch", "_patch_strict", "_repeated", "_scope", "_shown")

    def __init__(self, scope: Scope, ctx: RequestContext, name: str, asked: WriteQuery, given: _Patch, admitter: Admitter) -> None:
        self._scope = scope
        self._ctx = ctx
        self._name = name
        self._asked = asked
        self._patch = given
        self._admitter = admitter
        self._change: Change | None = None
        self._shown: str | None = None
        self._repeated: RepeatedFields | None = None
        self._patch_strict: list[str] = []

    async def __call__(self, existing: Object) -> Object:
        """The patched object, decoded and admitted. Raises StatusError."""
        if not (existing.get("metadata") or {}).get("uid"):
            raise errors.not_found(self._scope.resource.group_resource, self._name)
        if self._change is None:
            self._change = await background.run(self._parse)
        obj = await background.run(self._decode, self._change, existing)
        match_namespace(self._scope, obj, self._ctx.namespace)
        check_name(obj, self._name)
        obj = await self._admitter.mutate(Operation.UPDATE, obj, existing)
        dedup_owner_references(obj, self._ctx.warnings, after_admission=True)
        return obj

    def _parse(self) -> Change:
        strict, given = self._asked.field_validation != IGNORE, self._patch
        if given.type == JSON_PATCH:
            operations, unknown = patch.parse_json_patch(given.plain, strict=strict)
            given.check_numbers()
            repeated = within_known(json_decoder.duplicate_fields(given.data, operations), unknown) if strict else []
            found = json_decoder.in_order(given.data, [*repeated, *unknown]) if repeated and unknown else [*repeated, *unknown]
            self._patch_strict = [f"json patch {text}" for text in found]
            self._repeated = RepeatedFields(operations, repeated) if repeated else None
            spelled = patch.spelled_tests(operations, given.plain)
            return lambda existing: patch.json_patch(existing, operations, spelled)
        if given.type == MERGE_PATCH:
            document = patch.parse_merge_patch(given.plain, strict=strict)
        else:
            document = patch.parse_strategic_patch(given.plain)
        given.check_numbers()
        self._patch_strict = json_decoder.duplicate_fields(given.data, document) if strict else []
        if given.type == MERGE_PATCH:
            return lambda existing: patch.merge_patch(existing, document)
        self._shown = unstructured.printed(document)
        keys = self._scope.strategic_keys
        return lambda existing: strategic_merge(existing, document, keys)

    def _decode(self, change: Change, existing: Object) -> Object:
        patched = change(existing)
        if deep.is_too_deep(patched):
            raise _too_deep(patched)
        if self._scope.typed:
            patched = _sorted(patched)
        nameless: list[str] = []
        if self._scope.typed and self._scope.subresource != "scale":
            patched, nameless = self._as_typed(patched)
        repeated = self._repeated.within(patched) if self._repeated else []
        # It is shown only where it does not say what it is.
        text = b"" if type(patched) is dict and patched.get("kind") else json_codec.dumps(patched)
        try:
            obj, _ = identify(self._scope, patched, text)
            strict = nameless or decode_parsed(self._scope, obj, self._asked.field_validation)
        except ValueError as error:
            raise _refused(self._result(change, existing), str(error)) from error
        strict = [*self._patch_strict, *(within_known(repeated, strict) if self._scope.typed else repeated), *strict]
        if strict and self._asked.field_validation == WARN:
            self._ctx.warnings += strict
        elif strict and self._asked.field_validation != IGNORE:
            raise _refused(self._result(change, existing), strict_text(strict))
        return obj

    def _as_typed(self, patched: Any) -> tuple[Any, list[str]]:
        """What the decoder of a built-in kind gets to see, and what it does not know of it."""
        named = {"kind": self._scope.kind.kind, "apiVersion": self._scope.api_version}
        if self._shown is not None:
            # It is put into an object of the kind, whatever it calls itself.
            return patched | named, []
        if type(patched) is not dict or patched.get("apiVersion"):
            return patched, []
        # Without a version the reference takes it for something that has nothing but a kind.
        return named, [f"unknown field {go_format.quote(name)}" for name in patched if name not in named]

    def _result(self, change: Change, existing: Object) -> str:
        """What errors show: a strategic merge patch itself, or what a patch made; again for them, since decoding changes that in place."""
        return json_codec.dumps(change(existing)).decode() if self._shown is None else self._shown


def _sorted(value: Any) -> Any:
    """A JSON value with the members of all objects in order, as the reference writes and reads again what it has patched."""
    try:
        return _in_order(value)
    except RecursionError:
        return json_codec.loads(json_codec.dumps(value))


def _in_order(value: Any) -> Any:
    if type(value) is dict:
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if type(value) is list else value


def _too_deep(patched: Any) -> errors.StatusError:
    if deep.depth(patched) > deep.MAX_DEPTH + 1:
        # The reference's patch library looks at each member of the document by itself.
        return patch.rejected()
    written = json_codec.dumps(patched)
    why = f"couldn't get version/kind; json parse error: {syntax_error(written)}"
    return _refused(written.decode(), why)


def _refused(shown: str, why: str) -> errors.StatusError:
    """422 about a patch whose result is no object of the kind."""
    return errors.invalid(GroupKind("", ""), "", [field.invalid(field.Path("patch"), shown, why)])
