"""Inputs of the readers and writers of requests and responses."""

import contextlib
from typing import Any, Final

from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.handlers.write import dedup_owner_references
from apiext.api.endpoints.parameters.query_parameters import parse_query
from apiext.api.endpoints.serializers.negotiation import clauses, input_type
from apiext.base.meta.builtin_resources import EVENTS
from apiext.base.meta.encoding.json_decoder import BodyDecodeError, duplicate_fields, parse
from apiext.base.meta.encoding.protobuf_wire import field as delimited_field
from apiext.base.meta.errors import StatusError
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.jsonpath.paths import PathError, compile_path
from apiext.base.meta.jsonpath.steps import EvalError, Meter
from apiext.resources.registry.protobuf import kinds
from apiext.resources.registry.protobuf.kinds import message_of
from tests.support.growth.measure import Case

_NESTED: Final[dict[str, Any]] = {"b": 1, "x": {"x": {"x": {}}}, "list": [{"t": "a"}, {"t": "b"}]}


def _content_type(params: str) -> None:
    with contextlib.suppress(StatusError):
        input_type(make_mocked_request("POST", "/", headers={"Content-Type": f"application/json;{params}"}), protobuf=True)


def _path(begin: str, repeated: str, end: str = "") -> Case:
    def run(path: str) -> None:
        with contextlib.suppress(PathError, EvalError):
            compile_path(path)(_NESTED, Meter())

    return Case(f"path {begin}{repeated}{end}", lambda n: begin + repeated * n + end, run, start=4)


def _json(begin: bytes, repeated: bytes, end: bytes) -> Case:
    def run(data: bytes) -> None:
        with contextlib.suppress(BodyDecodeError):
            parse(data)

    return Case(f"JSON {begin!r} {repeated!r} {end!r}", lambda n: begin + repeated * n + end, run)


def _owners(count: int) -> list[dict[str, Any]]:
    return [{"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": str(index // 2)} for index in range(count)]


def _duplicates(begin: bytes, repeated: bytes, end: bytes) -> Case:
    def run(data: bytes) -> None:
        duplicate_fields(data, parse(data))

    return Case(f"duplicates {begin!r} {repeated!r}", lambda n: begin + repeated * n + end, run)


def _accept(repeated: str) -> Case:
    return Case(f"Accept {repeated}", lambda n: repeated * n, clauses)


def _read_message(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        kinds.read(data, message_of(struct_of(EVENTS.kind)))


CASES: Final = (
    _path("", ".b"),
    _path(".b}", "{.b}"),
    _path("", "['x','x']"),
    _path("", "...*"),
    _path(".list[0", ",0", "]"),
    _path(".list[?(@.t", ".t", ")]"),
    _path("", "[?("),
    _path("", "'"),
    _path("", "\\"),
    _path("", "1"),
    _json(b"[", b"1,", b"]"),
    _json(b"[", b"[],", b"!]"),
    _json(b"[", b'"",', b""),
    _json(b"{", b'"a":{"b":"c"},', b"}"),
    _json(b"", b"[", b""),
    _json(b'"', b"\\ud800", b'"'),
    _json(b'"', b"\\n", b"\xff"),
    _json(b'["\xff"', b",1e100", b"]"),
    _json(b"[1e999", b",12345", b"]"),
    _json(b"[", b"9", b"]"),
    _duplicates(b"{", b'"a":1,', b'"b":1}'),
    _duplicates(b"{", b'"a":{"b":1,"b":2},', b'"a":1}'),
    _duplicates(b'{"a":[', b'{"b":1,"b":2},', b"1]}"),
    _accept("a/b,"),
    _accept("a;q=1;b=c"),
    _accept(";"),
    _accept("*/*;as=Table,"),
    Case("query", lambda n: "a=%41&;&%&" * n, lambda text: parse_query(make_mocked_request("GET", f"/?{text}"))),
    Case("Content-Type", lambda n: 'a="b";' * n + '"', _content_type),
    Case("owner references", _owners, lambda owners: dedup_owner_references({"metadata": {"ownerReferences": owners}}, [])),
    Case("Protobuf fields", lambda n: kinds.dumps("v1", "Event", b"\x0a\x02\x0a\x00" * n), _read_message),
    Case("Protobuf map", lambda n: kinds.dumps("v1", "Event", delimited_field(1, b"\x5a\x02\x0a\x00" * n)), _read_message),
)
