"""Request bodies: read within the limit, parsed, checked for what they are, and decoded.

Mirrors apiserver pkg/endpoints/handlers (rest.go, create.go) and apimachinery pkg/runtime/serializer/json.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

from aiohttp import hdrs, web

from apiext.endpoints.handlers.expect_continue import ask_for_body
from apiext.endpoints.handlers.options import IGNORE, WARN
from apiext.endpoints.serializers import json_decoder
from apiext.endpoints.serializers.json_decoder import DecodeError, NumberError
from apiext.endpoints.serializers.negotiation import JSON, PROTOBUF, YAML, input_type
from apiext.meta import background, errors, go_format, json_codec
from apiext.meta.gvk import GroupVersion, GroupVersionKind, parse_group_version
from apiext.registry import protobuf

if TYPE_CHECKING:
    from aiohttp.streams import StreamReader

    from apiext.endpoints.handlers.scope import Scope
    from apiext.meta.json_codec import Object
    from apiext.registry.protobuf import Message

_SUMMARY: Final = 30
HEAVY: Final = 128 * 1024
"""Bytes of a body from which on others would wait too long for the work on it."""
_LARGE_YAML: Final = 16 * 1024
P = ParamSpec("P")
T = TypeVar("T")
INTERPRETED: Final = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_UNKNOWN_SCALE: Final = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
"""What the reference says of every scale that it cannot read."""
_TWICE: Final = 2
_KINDS: Final = frozenset({'duplicate field "kind"', 'duplicate field "apiVersion"'})
_YAML_PREFIX: Final = "yaml: unmarshal errors:\n"


async def read_body(request: web.BaseRequest, limit: int) -> bytes:
    """The whole body; raises StatusError (413) when it is longer than the limit."""
    declared = request.content_length
    if declared is not None and declared > limit:
        raise errors.too_large(f"limit is {limit}")
    if hdrs.EXPECT in request.headers:
        await ask_for_body(request)
    try:
        return await _read(request.content, limit)
    except web.RequestPayloadError as error:
        raise errors.unknown(str(error)) from error


async def _read(content: StreamReader, limit: int) -> bytes:
    first = await content.readany()
    if content.at_eof():
        if len(first) > limit:
            raise errors.too_large(f"limit is {limit}")
        return first
    body = bytearray(first)
    while chunk := await content.readany():
        body += chunk
        if len(body) > limit:
            raise errors.too_large(f"limit is {limit}")
    return bytes(body)


def body_type(request: web.BaseRequest, scope: Scope) -> str:
    """What the body is read as; raises StatusError (415)."""
    content_type = request.headers.get("Content-Type", "")
    return input_type(content_type, scope.offers, protobuf=scope.message is not None)


async def parse_body(data: bytes, media_type: str, message: Message | None = None) -> tuple[Any, list[str]]:
    """The value of a body, and what is wrong with it in the eyes of a strict YAML parser.

    Raises:
        DecodeError: it cannot be read.
    """
    return await _run(_parse, data, media_type, message)


async def _run(work: Callable[Concatenate[bytes, str, P], T], data: bytes, media_type: str, *args: P.args, **kwargs: P.kwargs) -> T:
    """Read a body, away from the event loop if it is large."""
    if len(data) > (_LARGE_YAML if media_type == YAML else HEAVY):
        return await background.begin(work, data, media_type, *args, **kwargs)
    return work(data, media_type, *args, **kwargs)


def _parse(data: bytes, media_type: str, message: Message | None) -> tuple[Any, list[str]]:
    if media_type == PROTOBUF and message is not None:
        return _parse_protobuf(data, message), []
    if media_type != YAML:
        return json_decoder.parse(data), []
    from apiext.endpoints.serializers import yaml_codec

    return yaml_codec.parse(data, strict=True)


def _parse_protobuf(data: bytes, message: Message) -> Any:
    if not data:
        raise _UnidentifiedError("empty data")
    if data == protobuf.PREFIX:
        raise _UnidentifiedError("empty body")
    if not data.startswith(protobuf.PREFIX):
        raise _UnidentifiedError("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        return protobuf.read(data, message)
    except (ValueError, RecursionError) as error:
        raise _UnidentifiedError(str(error)) from error


async def decode_body(scope: Scope, data: bytes, media_type: str, validation: str, warnings: list[str]) -> Object:
    """An object of the endpoint's kind from a body; warnings are added where the field validation is Warn.

    Raises:
        StatusError: 400 in the reference's words.
    """
    return await _run(_decode, data, media_type, scope, validation, warnings)


def _decode(data: bytes, media_type: str, scope: Scope, validation: str, warnings: list[str]) -> Object:
    kind: GroupVersionKind | None = None
    try:
        parsed, strict = _parse(data, media_type, scope.message)
        if media_type == YAML and isinstance(parsed, dict):
            parsed = dict(sorted(parsed.items()))
        repeated = _repeated(data, parsed, validation) if media_type == JSON else []
        obj, kind = identify(scope, parsed, data)
        if kind.version in scope.other_versions and (kind.group, kind.kind) == (scope.kind.group, scope.kind.kind):
            raise _other_version(kind, scope)
        strict += decode_parsed(scope, obj, validation, repeated, data)
    except NumberError as error:
        raise _overflowing(scope, error, data) from error
    except _KindlessError as error:
        if validation != IGNORE:
            raise _unrecognized(scope, str(error), data) from error
        # Only the reference's strict decoder forgets which kind the endpoint is of.
        shown = data if media_type != YAML else json_codec.dumps(error.value)
        raise _undecodable(scope, error.kind, _KindlessError.text(shown)) from error
    except DecodeError as error:
        text = str(error)
        if media_type != YAML and kind is None and not isinstance(error, _UnidentifiedError):
            text = f"couldn't get version/kind; json parse error: {text}"
        raise _unrecognized(scope, text, data) from error
    except ValueError as error:
        text = json_decoder.as_spelled(str(error), data) if media_type == JSON else str(error)
        raise _undecodable(scope, kind or scope.kind, text) from error
    report_strict(scope, kind, strict, validation, warnings)
    if kind.group_version != scope.kind.group_version:
        raise _other_version(kind, scope)
    return obj


def _repeated(data: bytes, parsed: Any, validation: str) -> list[str]:
    """What is said of fields that stand twice. Raises DecodeError where the kind does, and is no text at first."""
    if validation == IGNORE and data.count(b'"kind"') < _TWICE and data.count(b'"apiVersion"') < _TWICE:
        return []
    repeated = json_decoder.duplicate_fields(data, parsed)
    if not _KINDS.isdisjoint(repeated):
        name, kind = json_decoder.wrong_kind(data)
        if name:
            raise _mistold(name, kind)
    return repeated if validation != IGNORE else []


def _overflowing(scope: Scope, error: NumberError, data: bytes) -> errors.StatusError:
    """What is said of a body with a number that cannot be read: the reference asks for its kind before it reads numbers."""
    try:
        _, kind = identify(scope, error.value, data)
    except _KindlessError as kindless:
        kind = kindless.kind
    except DecodeError as unidentified:
        return _unrecognized(scope, str(unidentified), data)
    return _undecodable(scope, kind, str(error))


def _other_version(kind: GroupVersionKind, scope: Scope) -> errors.StatusError:
    theirs, ours = kind.group_version, scope.kind.group_version
    return errors.bad_request(f"the API version in the data ({theirs}) does not match the expected API version ({ours})")


class _UnidentifiedError(DecodeError):
    """A value that does not say what it is."""


class _KindlessError(_UnidentifiedError):
    """An object that does not name its kind; `kind` is what it would be at its endpoint."""

    def __init__(self, value: Object | None, kind: GroupVersionKind, data: bytes) -> None:
        super().__init__(self.text(data))
        self.value = value
        self.kind = kind

    @staticmethod
    def text(data: bytes) -> str:
        """The reference's words."""
        return f"Object 'Kind' is missing in '{data.decode('utf-8', 'replace')}'"


def identify(scope: Scope, parsed: Any, data: bytes) -> tuple[Object, GroupVersionKind]:
    """The object and the kind that it says it is; built-in kinds need not say it.

    Raises:
        DecodeError: it is no object, or says nothing that makes sense.
        ValueError: it is of a kind that a built-in endpoint does not know.
    """
    if parsed is not None and not isinstance(parsed, dict):
        wrong = f"json: cannot unmarshal {json_decoder.go_kind(parsed)} into Go value of type {INTERPRETED}"
        raise _UnidentifiedError(f"couldn't get version/kind; json parse error: {wrong}")
    obj: Object = parsed or {}
    # In the order of the body, which decides what is complained of first.
    told = {name: _told(obj, name) for name in obj if name in {"apiVersion", "kind"}}
    version, kind = told.get("apiVersion", ""), told.get("kind", "")
    try:
        group_version = parse_group_version(version)
    except ValueError as error:
        raise _UnidentifiedError(str(error)) from error
    if not scope.typed:
        if not kind:
            raise _KindlessError(parsed, _completed(scope, group_version, kind), data)
        return obj, GroupVersionKind(*group_version, kind)
    return obj, _completed(scope, group_version, kind)


def _told(obj: Object, name: str) -> str:
    text = obj.get(name)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise _mistold(name, json_decoder.go_kind(text))
    return text


def _mistold(name: str, kind: str) -> _UnidentifiedError:
    return _UnidentifiedError(
        f"couldn't get version/kind; json parse error: json: cannot unmarshal {kind} into Go struct field .{name} of type string"
    )


def _completed(scope: Scope, told: GroupVersion, kind: str) -> GroupVersionKind:
    """The kind of a body for a built-in endpoint, completed by the endpoint's own."""
    ours = scope.kind
    group, version = told
    if not group and not version:
        group, version = ours.group, ours.version
    elif not version and group == ours.group:
        version = ours.version
    return GroupVersionKind(group, version, kind or ours.kind)


def decode_parsed(scope: Scope, obj: Object, validation: str, repeated: Sequence[str] = (), data: bytes = b"") -> list[str]:
    """Decode a parsed object in place; what strict decoding finds, unless that is ignored.

    `repeated` is what is said of duplicate fields of the JSON that it was parsed from, which is `data`.

    Raises:
        ValueError: it does not decode; the text is the reference's.
    """
    if scope.typed:
        kind, version = obj.get("kind") or scope.kind.kind, obj.get("apiVersion") or scope.api_version
        if (kind, version) != (scope.kind.kind, scope.api_version):
            raise unregistered_kind(str(kind), str(version))
        obj["kind"], obj["apiVersion"] = kind, version
    unknown = scope.codec.decode_body(obj, validation != IGNORE)
    if scope.typed and repeated:
        repeated = within_known(repeated, unknown)
        return json_decoder.in_order(data, [*repeated, *unknown]) if unknown else repeated
    return [*repeated, *unknown]


def within_known(repeated: Sequence[str], unknown: Sequence[str]) -> list[str]:
    """Duplicate fields as a decoder of Go types sees them, which does not look into fields that it does not know."""
    skipped = [message.removeprefix("unknown field ").strip('"') for message in unknown]
    paths = {message: message.removeprefix("duplicate field ").strip('"') for message in repeated}
    return [
        message
        for message, path in paths.items()
        if not any(path == known or path.startswith((f"{known}.", f"{known}[")) for known in skipped)
    ]


def unregistered_kind(kind: str, version: str) -> ValueError:
    """What a built-in endpoint says of a kind that it does not know."""
    told = f"no kind {go_format.quote(kind)} is registered for version {go_format.quote(version)}"
    return ValueError(f'{told} in scheme "pkg/runtime/scheme.go:111"')


def report_strict(scope: Scope, kind: GroupVersionKind, strict: Sequence[str], validation: str, warnings: list[str]) -> None:
    """Warn of strict errors, or raise StatusError (400) because of them."""
    if not strict or validation == IGNORE:
        return
    if validation == WARN:
        warnings.extend(message.strip() for message in strict)
        return
    if scope.typed or scope.kind == _SCALE:
        raise _undecodable(scope, kind, strict_text(strict))
    # By now the reference has decoded the object, and asks that for its kind.
    if not kind.version:
        raise errors.bad_request("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    version = go_format.quote(kind.version)
    raise errors.bad_request(f"{kind.kind} in version {version} cannot be handled as a {kind.kind}: {strict_text(strict)}")


def strict_text(strict: Sequence[str]) -> str:
    """Strict errors as one text: those of YAML come as one error of several lines."""
    lines = [message for message in strict if message.startswith("  line ")]
    others = [message for message in strict if not message.startswith("  line ")]
    return "strict decoding error: " + ", ".join([_YAML_PREFIX + "\n".join(lines), *others] if lines else others)


def _undecodable(scope: Scope, kind: GroupVersionKind, text: str) -> errors.StatusError:
    if scope.kind == _SCALE:
        return errors.bad_request(_UNKNOWN_SCALE)
    return errors.bad_request(f"{kind.kind} in version {go_format.quote(kind.version)} cannot be handled as a {scope.kind.kind}: {text}")


def _unrecognized(scope: Scope, text: str, data: bytes) -> errors.StatusError:
    if scope.kind == _SCALE:
        return errors.bad_request(_UNKNOWN_SCALE)
    return errors.bad_request(f"the object provided is unrecognized (must be of type {scope.kind.kind}): {text} ({_summary(data)})")


def _summary(data: bytes) -> str:
    if not data:
        return "<empty>"
    more = " ..." if len(data) > _SUMMARY else ""
    head = data[:_SUMMARY]
    return (head.decode("utf-8", "replace") if data[:1] == b"{" else head.hex()) + more
