"""One function for each parser of clients' input: it takes any bytes, and raises nothing but a failure.

A target accepts the errors that the parser promises. Where a parser has an inverse, it also checks that what was read and written
again is read as the same.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Final

Target = Callable[[bytes], None]

_TURNS: Final = 5
"""Turns of the event loop after which the handlers of a lost connection have ended."""
_SAMPLE: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "Sample",
    "metadata": {"name": "a", "labels": {"a": "b"}, "annotations": {"c/d": "e"}},
    "spec": {"items": [{"name": "x", "n": 1}, {"name": "y", "n": 2.5}], "flag": True, "none": None, "text": "é"},
}
_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "maxLength": 10},
        "number": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "items": {"type": "array", "maxItems": 5, "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "map": {"type": "object", "additionalProperties": {"type": "string"}},
        "time": {"type": "string", "format": "date-time"},
        "any": {"x-kubernetes-int-or-string": True},
    },
}


def _stable(parsed: Any, parse: Callable[[bytes], Any], write: Callable[[Any], bytes]) -> None:
    """Assert that what is written is read as the same. Once, a float may become an integer, as in Go: 1e20, -0E2."""
    written = write(parse(write(parsed)))
    again = write(parse(written))
    assert again == written, (written, again)


def json_body(data: bytes) -> None:
    """Parse a body in JSON, write it, and parse it again."""
    from apiext.base.meta.encoding import json_codec, json_decoder

    with suppress(json_decoder.BodyDecodeError):
        parsed, _ = json_decoder.parse_unique(data)
        _stable(parsed, json_decoder.parse, json_codec.dumps)
        json_decoder.find_duplicates(data)


def yaml_body(data: bytes) -> None:
    """Parse a body in YAML, write it, and parse it again."""
    from apiext.base.meta.encoding import json_decoder, yaml_codec

    with suppress(json_decoder.BodyDecodeError):
        parsed, _ = yaml_codec.parse(data)
        _stable(parsed, lambda written: yaml_codec.parse(written)[0], yaml_codec.dumps)


def cbor_body(data: bytes) -> None:
    """Parse a body in CBOR, write it, and parse it again."""
    from apiext.base.meta.encoding import cbor_codec, cbor_decoder, json_decoder

    with suppress(json_decoder.BodyDecodeError):
        _stable(cbor_decoder.parse(data), cbor_decoder.parse, cbor_codec.dumps)


def protobuf_body(data: bytes) -> None:
    """Parse a CustomResourceDefinition in Protobuf."""
    from apiext.api.endpoints.handlers.body import parse_body
    from apiext.api.endpoints.serializers.negotiation import PROTOBUF
    from apiext.base.meta.encoding.json_decoder import BodyDecodeError
    from apiext.resources.registry.protobuf.customresourcedefinition import DEFINITION_WIRE
    from apiext.resources.registry.protobuf.kinds import PREFIX

    with suppress(BodyDecodeError):
        parse_body(PREFIX + data, PROTOBUF, DEFINITION_WIRE)


def applied_configuration(data: bytes) -> None:
    """Parse the configuration of a server-side apply."""
    from apiext.api.endpoints.serializers.apply_configuration import parse_configuration
    from apiext.base.meta.errors import StatusError

    with suppress(StatusError):
        parse_configuration(data)


def label_selector(data: bytes) -> None:
    """Parse a label selector, and match it."""
    from apiext.base.meta.selector_parser import parse_label_selector

    with suppress(ValueError):
        parse_label_selector(data.decode()).matches(_SAMPLE["metadata"]["labels"])


def field_selector(data: bytes) -> None:
    """Parse a field selector."""
    from apiext.base.meta.selector_parser import parse_field_selector

    with suppress(ValueError):
        parse_field_selector(data.decode())


def shard_selector(data: bytes) -> None:
    """Parse a shard selector."""
    from apiext.api.endpoints.parameters.shard_expression import ShardSelectorError, parse_shard_selector

    with suppress(ShardSelectorError, UnicodeDecodeError):
        parse_shard_selector(data.decode())


def json_path(data: bytes) -> None:
    """Compile the JSONPath of a column, and evaluate it."""
    from apiext.base.meta.jsonpath.paths import PathError, compile_path
    from apiext.base.meta.jsonpath.steps import EvalError, Meter

    with suppress(PathError, EvalError, UnicodeDecodeError):
        compile_path(data.decode())(_SAMPLE, Meter())


def cel_rule(data: bytes) -> None:
    """Compile a validation rule in CEL, and its program."""
    from apiext.schema.cel.errors import CelError
    from apiext.schema.cel.program import compile_program
    from apiext.schema.cel.rule_compiler import check_rule
    from apiext.schema.cel.syntax.source import CompileError
    from apiext.schema.cel.values.json_conversion import Shape

    structural, environment = _rule_environment()
    with suppress(CompileError, CelError, UnicodeDecodeError):
        checked = check_rule(data.decode(), environment)
        shape = Shape(structural)
        compile_program(checked, {"self": shape, "oldSelf": shape}, environment.functions).source(counting=True)


@cache
def _rule_environment() -> Any:
    from apiext.schema.cel.declarations import DeclaredTypes, declare
    from apiext.schema.cel.rule_compiler import rule_environment
    from apiext.schema.cel.versions import new_environment
    from apiext.schema.model import Structural

    structural = Structural(_SCHEMA)
    declaration = declare(structural)
    assert declaration is not None
    return structural, rule_environment(new_environment(), DeclaredTypes(declaration))


def json_patch(data: bytes) -> None:
    """Parse a JSON patch, and apply it."""
    from apiext.base.meta import patch
    from apiext.base.meta.encoding import json_decoder
    from apiext.base.meta.errors import StatusError

    with suppress(json_decoder.BodyDecodeError, StatusError):
        operations, _ = patch.parse_json_patch(json_decoder.parse(data))
        patched = patch.json_patch(_SAMPLE, operations)
        json.dumps(patched)


def merge_patch(data: bytes) -> None:
    """Parse a merge patch, and apply it twice, which changes nothing more."""
    from apiext.base.meta import patch
    from apiext.base.meta.encoding import json_decoder, json_values
    from apiext.base.meta.errors import StatusError

    with suppress(json_decoder.BodyDecodeError, StatusError):
        change = patch.parse_merge_patch(json_decoder.parse(data))
        once = patch.merge_patch(_SAMPLE, change)
        assert json_values.equal(patch.merge_patch(once, change), once)


def strategic_merge_patch(data: bytes) -> None:
    """Parse a strategic merge patch, and apply it."""
    from apiext.api.endpoints.handlers.strategic_merge import OBJECT_META_KEYS, REPLACE, strategic_merge
    from apiext.base.meta.encoding import json_decoder
    from apiext.base.meta.errors import StatusError

    with suppress(json_decoder.BodyDecodeError, StatusError):
        change = json_decoder.parse(data)
        json.dumps(strategic_merge(_SAMPLE, change, {**OBJECT_META_KEYS, "spec.items": "name", "spec.ports": REPLACE}))


def field_set(data: bytes) -> None:
    """Parse the field set of a manager; it is the same with itself, and nothing without itself."""
    from apiext.base.meta.encoding import json_decoder
    from apiext.resources.managedfields import field_set as sets

    with suppress(json_decoder.BodyDecodeError, ValueError):
        parsed = sets.parse(json_decoder.parse(data))
        assert sets.union(parsed, parsed) == parsed
        assert sets.difference(parsed, parsed) == sets.LEAF


def continue_token(data: bytes) -> None:
    """Parse the token of a page, write it, and parse it again."""
    from apiext.base.meta.errors import StatusError
    from apiext.storage import continue_token as tokens

    with suppress(StatusError, UnicodeDecodeError):
        token = tokens.decode(data.decode())
        assert tokens.decode(tokens.encode(*token)) == token


def service_account_token(data: bytes) -> None:
    """Parse the token of a ServiceAccount, and check its times."""
    from apiext.api.authentication.serviceaccount import service_account_tokens as claims
    from apiext.api.authentication.serviceaccount import service_account_tokens as jwt
    from apiext.api.authentication.tokens import TokenError

    with suppress(TokenError):
        if parsed := jwt.parse(data.decode(errors="surrogateescape")):
            claims.decode(parsed.claims).check_times(now=0)


def accept_header(data: bytes) -> None:
    """Parse an Accept header."""
    from apiext.api.endpoints.serializers.negotiation import clauses

    clauses(data.decode("latin-1"))


def http_head(data: bytes) -> None:
    """Parse requests on a connection, in one piece and in two."""
    from unittest import mock

    from aiohttp.base_protocol import BaseProtocol
    from aiohttp.http_exceptions import HttpProcessingError

    from apiext.server.http.request_parser import RequestParser

    async def feed(*pieces: bytes) -> None:
        loop = asyncio.get_running_loop()
        connection = BaseProtocol(loop)
        connection.transport = mock.Mock()
        parser = RequestParser(connection, loop, on_timeout=lambda: None, on_broken_body=lambda: None, buffer_size=1 << 16)
        try:
            with suppress(HttpProcessingError):
                for piece in pieces:
                    parser.feed_data(piece)
        finally:
            parser.close()

    middle = len(data) // 2
    _loop().run_until_complete(feed(data))
    _loop().run_until_complete(feed(data[:middle], data[middle:]))


def http2_frames(data: bytes) -> None:
    """Receive frames of an etcd, on a connection with an open call."""
    from unittest import mock

    from apiext.storage.etcd.http2.connection import Connection

    async def receive() -> None:
        connection = Connection(lambda _connection, _reason: None)
        connection.connection_made(mock.Mock())
        try:
            connection.data_received(data)
        finally:
            connection.connection_lost(None)

    _loop().run_until_complete(receive())


def http2_requests(data: bytes) -> None:
    """Receive frames of a client, in one piece and in two, and answer its requests."""
    from unittest import mock

    from aiohttp import web

    from apiext.api.endpoints.responsewriters.response import Reply
    from apiext.base.http2 import frames
    from apiext.base.scheduling.parse_turns import parse_turns
    from apiext.server.http.http2.connection import Http2Connection
    from apiext.server.http.server import HTTPServer
    from apiext.server.http.unauthenticated import UnauthenticatedConnections
    from apiext.server.options.options import Http2Options

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        return Reply(await request.read())

    async def receive(*pieces: bytes) -> None:
        loop = asyncio.get_running_loop()
        place = UnauthenticatedConnections().add(lambda: None)
        connection = Http2Connection(HTTPServer(handle, None), place, parse_turns(loop), Http2Options())
        transport = mock.Mock()
        transport.is_closing.return_value = False
        transport.get_extra_info.return_value = None
        connection.connection_made(transport)
        connection.data_received(frames.PREFACE + frames.settings({}))
        for piece in pieces:
            connection.data_received(piece)
            await asyncio.sleep(0)
        connection.connection_lost(None)
        for _ in range(_TURNS):
            await asyncio.sleep(0)

    middle = len(data) // 2
    _loop().run_until_complete(receive(data))
    _loop().run_until_complete(receive(data[:middle], data[middle:]))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    return asyncio.new_event_loop()


TARGETS: Final[Mapping[str, Target]] = {
    target.__name__.replace("_", "-"): target
    for target in (
        json_body,
        yaml_body,
        cbor_body,
        protobuf_body,
        applied_configuration,
        label_selector,
        field_selector,
        shard_selector,
        json_path,
        cel_rule,
        json_patch,
        merge_patch,
        strategic_merge_patch,
        field_set,
        continue_token,
        service_account_token,
        accept_header,
        http_head,
        http2_frames,
        http2_requests,
    )
}
"""All targets by name."""
