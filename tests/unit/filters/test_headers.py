"""The filters that only put headers on answers, and how answers carry them."""

import re
import uuid

from aiohttp import web

from apiext.endpoints.request import HEADERS, WARNINGS
from apiext.endpoints.responsewriters.response import Reply, Stream
from apiext.filters.audit_id import AuditID, random_ids
from apiext.filters.cache_control import CacheControl
from apiext.filters.cors import CORS
from apiext.filters.hsts import HSTS
from apiext.filters.warning import WarningRecorder
from tests.unit.filters.conftest import Make, hello


async def test_audit_id_is_made(exchange: Make) -> None:
    """A request without an id gets one, and the client is told."""
    done = await exchange().through(AuditID(hello, new_id=lambda: "new"))

    assert done.headers["Audit-Id"] == "new"


async def test_audit_id_is_kept(exchange: Make) -> None:
    """An id that the client sends is the request's."""
    done = await exchange(headers={"Audit-ID": "mine"}).through(AuditID(hello))

    assert done.headers["Audit-Id"] == "mine"


def test_audit_ids_are_random_uuids() -> None:
    """Ids are UUIDs of version 4, each a new one."""
    ids = random_ids()
    some = [next(ids) for _ in range(1000)]

    assert len(set(some)) == len(some)
    assert {(uuid.UUID(text).version, uuid.UUID(text).variant) for text in some} == {(4, uuid.RFC_4122)}


async def test_cache_control(exchange: Make) -> None:
    """No shared cache keeps an answer, unless the handler allows it."""

    async def public(_request: web.BaseRequest) -> web.StreamResponse:
        return Reply(b"x", headers={"Cache-Control": "public"})

    assert (await exchange().through(CacheControl(hello))).headers["Cache-Control"] == "no-cache, private"
    assert (await exchange().through(CacheControl(public))).headers["Cache-Control"] == "public"


async def test_hsts(exchange: Make) -> None:
    """The directives go out joined."""
    done = await exchange().through(HSTS(hello, directives=["max-age=31536000", "includeSubDomains"]))

    assert done.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"


async def test_cors_grants_known_origins(exchange: Make) -> None:
    """A script of an origin that a pattern is found in gets in; its preflight is answered at once."""
    chain = CORS(hello, origins=[re.compile("^https://good")])

    asked = await exchange(headers={"Origin": "https://good.example"}).through(chain)
    preflight = await exchange(method="OPTIONS", headers={"Origin": "https://good.example"}).through(chain)

    assert asked.headers["Access-Control-Allow-Origin"] == "https://good.example"
    assert asked.body == b"hello"
    assert (preflight.status, preflight.body) == (204, b"")
    assert preflight.headers["Access-Control-Allow-Methods"] == "POST, GET, OPTIONS, PUT, DELETE, PATCH"


async def test_cors_leaves_others_alone(exchange: Make) -> None:
    """Without an origin, or with another one, nothing is granted and the request goes on."""
    chain = CORS(hello, origins=[re.compile("^https://good")])

    for headers in ({}, {"Origin": "https://bad.example"}):
        done = await exchange(method="OPTIONS", headers=headers).through(chain)

        assert "Access-Control-Allow-Origin" not in done.headers
        assert done.body == b"hello"


async def test_warnings_go_out_once_each(exchange: Make) -> None:
    """What handlers warn of goes out as Warning headers, the same text once, quotes escaped."""

    async def warns(request: web.BaseRequest) -> web.StreamResponse:
        request[WARNINGS] += ['say "x"', 'say "x"', "", "line\nbreak"]
        return Reply(b"x")

    done = await exchange().through(WarningRecorder(warns))

    assert re.findall(rb"Warning: (.*)\r\n", done.wire.data) == [b'299 - "say \\"x\\""']


async def test_warnings_are_bounded(exchange: Make) -> None:
    """Too many long warnings are shortened, and left out in the end."""

    async def warns(request: web.BaseRequest) -> web.StreamResponse:
        request[WARNINGS] += [f"{number:04d}{'x' * 400}" for number in range(100)]
        return Reply(b"x")

    done = await exchange().through(WarningRecorder(warns))

    texts = re.findall(rb'Warning: 299 - "(.*)"\r\n', done.wire.data)
    assert {len(text) for text in texts} == {256}
    assert len(texts) == 4096 // 256


async def test_a_reply_is_one_write(exchange: Make) -> None:
    """Status line, headers and the parts of the body leave together; no part of it can break a header."""
    done = exchange()
    done.request[HEADERS] = {"Audit-Id": "1"}

    await done.through(_parts)

    assert done.wire.data.startswith(b"HTTP/1.1 201 Created\r\nAudit-Id: 1\r\n")
    assert (done.headers["Content-Length"], done.headers["Content-Type"], done.body) == ("3", "application/json", b"abc")


async def _parts(_request: web.BaseRequest) -> web.StreamResponse:
    return Reply((b"a", b"bc"), status=201)


async def test_head_has_no_body(exchange: Make) -> None:
    """HEAD gets the headers that GET would get."""
    done = await exchange(method="HEAD").through(hello)

    assert (done.headers["Content-Length"], done.body) == ("5", b"")


async def test_closing_connections_say_so(exchange: Make) -> None:
    """An answer after which the server closes says it."""

    async def last(_request: web.BaseRequest) -> web.StreamResponse:
        reply = Reply(b"x")
        reply.force_close()
        return reply

    done = await exchange().through(last)

    assert done.headers["Connection"] == "close"
    assert done.response is not None
    assert not done.response.keep_alive


async def test_streams_carry_headers_too() -> None:
    """A stream sends the filters' headers and the warnings before its first piece."""
    from aiohttp.test_utils import RawTestServer, TestClient

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        request[HEADERS] = {"Audit-Id": "1"}
        request[WARNINGS] = ["careful"]
        stream = Stream(content_type="text/plain")
        await stream.prepare(request)
        await stream.write(b"piece")
        return stream

    client: TestClient[web.BaseRequest, None] = TestClient(RawTestServer(handler))
    async with client, client.get("/") as response:
        found = {name: response.headers[name] for name in ("Audit-Id", "Warning", "Content-Type")}
        assert found == {"Audit-Id": "1", "Warning": '299 - "careful"', "Content-Type": "text/plain"}
        assert await response.read() == b"piece"
