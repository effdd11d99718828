"""Request bodies: reading within the limit, parsing, identification of the kind, and decoding.

Mirrors apiserver pkg/endpoints/handlers (rest.go, create.go) and apimachinery pkg/runtime/serializer/json.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from aiohttp import hdrs, web

from apiext.api.endpoints.handlers.expect_continue import ask_for_body
from apiext.api.endpoints.parameters.options import IGNORE, WARN
from apiext.api.endpoints.scopes.scope import Scope
from apiext.api.endpoints.serializers.apply_configuration import parse_yaml
from apiext.api.endpoints.serializers.negotiation import CBOR, JSON, PROTOBUF, YAML
from apiext.base.meta import errors, field
from apiext.base.meta.encoding import json_codec, json_decoder, json_values
from apiext.base.meta.encoding.json_codec import Object
from apiext.base.meta.encoding.json_decoder import BodyDecodeError, DepthError
from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.golang import formatting, type_model
from apiext.base.meta.gvk import GroupVersion, GroupVersionKind, parse_group_version
from apiext.base.meta.limits import MAX_DEPTH
from apiext.resources.definitions.codec import GVK
from apiext.resources.definitions.validation.schemas import schemas_by_path
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import Message

_SUMMARY_BYTES: Final = 30
TYPE_META_ERROR: Final = "couldn't get version/kind; json parse error: "
_GO_TYPE_META: Final = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_UNKNOWN_SCALE: Final = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
"""The reference's error for every invalid Scale."""
YAML_PREFIX: Final = "yaml: unmarshal errors:\n"

_TOO_DEEP: Final = f"must not be nested so deeply that the definition has more than {MAX_DEPTH} levels"


async def read_body(request: web.BaseRequest, limit: int) -> bytes:
    """Read the whole body, up to the limit in bytes.

    Raises:
        StatusError: 413 if it is larger than the limit in bytes, 500 if it ends early.
    """
    try:
        # a small body arrives with the headers
        if request.content.is_eof() and hdrs.EXPECT not in request.headers:
            data = request.content.read_nowait()
            if len(data) > limit:
                raise errors.too_large(f"limit is {limit}")
            return data
        return await _read_chunks(request, limit)
    except web.RequestPayloadError as error:
        raise errors.unknown(str(error)) from error


async def _read_chunks(request: web.BaseRequest, limit: int) -> bytes:
    """Read the rest of a body that has not fully arrived. Raises as `read_body`, and RequestPayloadError."""
    declared = request.content_length
    if declared is not None and declared > limit:
        raise errors.too_large(f"limit is {limit}")
    if hdrs.EXPECT in request.headers:
        await ask_for_body(request)
    chunks: list[bytes] = []
    size = 0
    while True:
        chunk = await request.content.readany()
        size += len(chunk)
        if size > limit:
            raise errors.too_large(f"limit is {limit}")
        chunks.append(chunk)
        if request.content.at_eof():
            return b"".join(chunks)


def parse_body(data: bytes, media_type: str, message: Message | None) -> tuple[Any, list[str]]:
    """Parse a body. Return its value and the strict YAML parser's messages.

    Raises:
        BodyDecodeError: the body can not be parsed.
    """
    if media_type == PROTOBUF and message is not None:
        return _parse_protobuf(data, message), []
    if media_type == CBOR:
        from apiext.base.meta.encoding import cbor_decoder

        return cbor_decoder.parse(data), []
    if media_type != YAML:
        return json_decoder.parse(data), []
    parsed, duplicates = parse_yaml(data)
    # like sigs.k8s.io/yaml, which converts to JSON first
    return dict(sorted(parsed.items())) if isinstance(parsed, dict) else parsed, duplicates


def _parse_protobuf(data: bytes, message: Message) -> Any:
    if not data:
        raise _UnidentifiedError("empty data")
    if data == kinds.PREFIX:
        raise _UnidentifiedError("empty body")
    if not data.startswith(kinds.PREFIX):
        raise _UnidentifiedError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        value = kinds.read(data, message)
    except ValueError as error:
        raise _UnidentifiedError(str(error)) from error
    except RecursionError:
        raise DepthError from None
    if json_values.is_deeper(value, MAX_DEPTH):
        raise DepthError(value)
    return value


def decode_body(scope: Scope, data: bytes, media_type: str, validation: str, warnings: list[str]) -> Object:
    """Decode a body to an object of the endpoint's kind. Add warnings if the field validation is Warn.

    Raises:
        StatusError: 400 with the reference's message.
    """
    kind: GroupVersionKind | None = None
    try:
        strict: list[str] = []
        duplicates: list[str] = []
        if media_type == JSON:
            parsed, is_unique = json_decoder.parse_unique(data)
            duplicates = [] if is_unique or validation == IGNORE else json_decoder.find_duplicates(data)
        else:
            parsed, strict = parse_body(data, media_type, scope.dialect.message)
        obj, kind = identify(scope, parsed, data)
        if kind.version in scope.dialect.other_versions and (kind.group, kind.kind) == (scope.kind.group, scope.kind.kind):
            raise _other_version(kind, scope)
        strict += decode_parsed(scope, obj, validation, duplicates)
        if media_type == CBOR and not scope.dialect.typed:
            # the reference reports unknown fields in CBOR for built-in kinds only
            strict = []
    except DepthError as error:
        raise _too_deep(scope.kind, error.value) from error
    except _MissingKindError as error:
        if validation != IGNORE:
            raise _unrecognized(scope, str(error), data) from error
        # Only the reference's strict decoder loses the endpoint's kind.
        shown = json_codec.dumps(error.value) if media_type in {YAML, CBOR} else data
        raise _undecodable(scope, error.kind, _MissingKindError.text(shown)) from error
    except BodyDecodeError as error:
        text = str(error)
        if media_type not in {YAML, CBOR} and kind is None and not isinstance(error, _UnidentifiedError):
            text = f"{TYPE_META_ERROR}{text}"
        raise _unrecognized(scope, text, data) from error
    except ValueError as error:
        raise _undecodable(scope, kind or scope.kind, str(error)) from error
    _report_strict(scope, kind, strict, validation, warnings)
    if kind[:2] != scope.kind[:2]:
        raise _other_version(kind, scope)
    return obj


def _other_version(kind: GroupVersionKind, scope: Scope) -> errors.StatusError:
    given, expected = kind.group_version, scope.kind.group_version
    return errors.bad_request(f"the API version in the data ({given}) does not match the expected API version ({expected})")


class _UnidentifiedError(BodyDecodeError):
    """A body without a valid apiVersion and kind."""


class _MissingKindError(_UnidentifiedError):
    """An object without a kind. `kind` is the body's, completed by that of the endpoint."""

    def __init__(self, value: Object | None, kind: GroupVersionKind, data: bytes) -> None:
        super().__init__(self.text(data))
        self.value = value
        self.kind = kind

    @staticmethod
    def text(data: bytes) -> str:
        """Return the reference's message."""
        return f"Object 'Kind' is missing in '{data.decode('utf-8', 'replace')}'"


def identify(scope: Scope, parsed: Any, data: bytes) -> tuple[Object, GroupVersionKind]:
    """Return the object and its kind. The endpoint completes the kind of built-in objects.

    Raises:
        BodyDecodeError: the value is no object, or has no valid apiVersion and kind.
    """
    if type(parsed) is dict and parsed.get("kind") == scope.kind.kind and parsed.get("apiVersion") == scope.kind.api_version:
        return parsed, scope.kind
    obj, version, kind = type_meta(parsed)
    try:
        group_version = parse_group_version(version)
    except ValueError as error:
        raise _UnidentifiedError(str(error)) from error
    if not scope.dialect.typed:
        if not kind:
            raise _MissingKindError(parsed, _completed(scope, group_version, kind), data)
        return obj, GroupVersionKind(*group_version, kind)
    return obj, _completed(scope, group_version, kind)


def type_meta(parsed: Any) -> tuple[Object, str, str]:
    """Return the object with its apiVersion and kind, which are "" if they are missing or null.

    Raises:
        BodyDecodeError: the value is not an object, or its apiVersion or kind is not a string.
    """
    if parsed is not None and not isinstance(parsed, dict):
        wrong = f"json: cannot unmarshal {type_model.describe(parsed)} into Go value of type {_GO_TYPE_META}"
        raise _UnidentifiedError(f"{TYPE_META_ERROR}{wrong}")
    obj: Object = parsed or {}
    for name, member in obj.items():
        if name in {"apiVersion", "kind"} and not isinstance(member, str | None):
            raise _wrong_type(name, type_model.describe(member))
    return obj, obj.get("apiVersion") or "", obj.get("kind") or ""


def _wrong_type(name: str, kind: str) -> _UnidentifiedError:
    return _UnidentifiedError(f"{TYPE_META_ERROR}json: cannot unmarshal {kind} into Go struct field .{name} of type string")


def _completed(scope: Scope, given: GroupVersion, kind: str) -> GroupVersionKind:
    """Return the kind of a body, completed by that of a built-in endpoint."""
    ours = scope.kind
    group, version = given
    if not group and not version:
        group, version = ours.group, ours.version
    elif not version and group == ours.group:
        version = ours.version
    return GroupVersionKind(group, version, kind or ours.kind)


def decode_parsed(scope: Scope, obj: Object, validation: str, duplicates: Sequence[str] = ()) -> list[str]:
    """Decode a parsed object in place. Return the errors of strict decoding, `duplicates` first, unless the validation is Ignore.

    Raises:
        ValueError: the object can not be decoded; the text is the reference's.
    """
    if scope.dialect.typed:
        kind, version = obj.get("kind") or scope.kind.kind, obj.get("apiVersion") or scope.api_version
        if (kind, version) != (scope.kind.kind, scope.api_version):
            raise unregistered_kind(str(kind), str(version))
        # the field manager of the reference refuses a Scale without apiVersion
        completed = {"kind": kind} if scope.kind == _SCALE and not obj.get("apiVersion") else {"kind": kind, "apiVersion": version}
        obj |= completed
    unknown = scope.codec.decode_body(obj, validation != IGNORE)
    return [*duplicates, *unknown]


def unregistered_kind(kind: str, version: str) -> ValueError:
    """Return a built-in endpoint's error about an unregistered kind."""
    text = f"no kind {formatting.quote(kind)} is registered for version {formatting.quote(version)}"
    return ValueError(f'{text} in scheme "pkg/runtime/scheme.go:111"')


def _report_strict(scope: Scope, kind: GroupVersionKind, strict: Sequence[str], validation: str, warnings: list[str]) -> None:
    """Add strict errors to the warnings if the validation is Warn; raise StatusError (400) if it is Strict."""
    if not strict or validation == IGNORE:
        return
    if validation == WARN:
        warnings.extend(message.strip() for message in strict)
        return
    if scope.dialect.typed or scope.kind == _SCALE:
        raise _undecodable(scope, kind, strict_text(strict))
    # Here the reference takes the kind from the decoded object.
    if not kind.version:
        raise errors.bad_request("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    version = formatting.quote(kind.version)
    raise errors.bad_request(f"{kind.kind} in version {version} cannot be handled as a {kind.kind}: {strict_text(strict)}")


def strict_text(strict: Sequence[str]) -> str:
    """Join strict errors into one text. YAML errors form one error of several lines."""
    lines = [message for message in strict if message.startswith("  line ")]
    others = [message for message in strict if not message.startswith("  line ")]
    return "strict decoding error: " + ", ".join([YAML_PREFIX + "\n".join(lines), *others] if lines else others)


def _undecodable(scope: Scope, kind: GroupVersionKind, text: str) -> errors.StatusError:
    if scope.kind == _SCALE:
        return errors.bad_request(_UNKNOWN_SCALE)
    return errors.bad_request(f"{kind.kind} in version {formatting.quote(kind.version)} cannot be handled as a {scope.kind.kind}: {text}")


def _unrecognized(scope: Scope, text: str, data: bytes) -> errors.StatusError:
    if scope.kind == _SCALE:
        return errors.bad_request(_UNKNOWN_SCALE)
    return errors.bad_request(f"the object provided is unrecognized (must be of type {scope.kind.kind}): {text} ({_summary(data)})")


def _summary(data: bytes) -> str:
    if not data:
        return "<empty>"
    more = " ..." if len(data) > _SUMMARY_BYTES else ""
    head = data[:_SUMMARY_BYTES]
    return (head.decode("utf-8", "replace") if data[:1] == b"{" else head.hex()) + more


def _too_deep(kind: GroupVersionKind, body: Any) -> errors.StatusError:
    """Return the error about a body nested too deeply: 422 if a schema in a definition is too deep, else 400.

    `body` is the parsed body, None if the parser stopped at the limit.
    """
    if kind == GVK and isinstance(body, dict):
        found = [path for path, above, schema in schemas_by_path(body) if is_deeper(schema, MAX_DEPTH - above)]
        if found:
            metadata = body.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            causes = [field.forbidden(path, _TOO_DEEP) for path in found]
            return errors.invalid(GVK.group_kind, name if isinstance(name, str) else "", causes)
    return errors.bad_request(f"the request body is nested deeper than {MAX_DEPTH} levels")
