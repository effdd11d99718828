"""Filters that set headers of answers, and their rendering."""

import re
import uuid

from aiohttp import web

from apiext.api.endpoints.request import HEADERS, WARNINGS
from apiext.api.endpoints.responsewriters.response import Reply, ResponseStream
from apiext.api.filters.cors import CORS
from apiext.api.filters.headers import HSTS, AuditID, CacheControl, WarningRecorder
from tests.unit.api.filters.conftest import Make, hello


async def test_creates_audit_ids(exchange: Make) -> None:
    """Create an Audit-ID for a request without one, and return it."""
    handler = AuditID(hello)
    created = [(await exchange().through(handler)).headers["Audit-Id"] for _ in range(2)]

    assert len({str(uuid.UUID(text)) for text in created}) == 2


async def test_keeps_audit_ids(exchange: Make) -> None:
    """Keep the Audit-ID of the client."""
    done = await exchange(headers={"Audit-ID": "mine"}).through(AuditID(hello))

    assert done.headers["Audit-Id"] == "mine"


async def test_sets_cache_control(exchange: Make) -> None:
    """Exclude answers from shared caches, unless the handler allows them."""

    async def public(_request: web.BaseRequest) -> web.StreamResponse:
        return Reply(b"x", headers={"Cache-Control": "public"})

    assert (await exchange().through(CacheControl(hello))).headers["Cache-Control"] == "no-cache, private"
    assert (await exchange().through(CacheControl(public))).headers["Cache-Control"] == "public"


async def test_sets_strict_transport_security(exchange: Make) -> None:
    """Join the directives in one header."""
    done = await exchange().through(HSTS(hello, directives=["max-age=31536000", "includeSubDomains"]))

    assert done.headers["Strict-Transport-Security"] == "max-age=31536000; includeSubDomains"


async def test_grants_matching_origins(exchange: Make) -> None:
    """Grant access to an origin that a pattern matches, and answer its preflight request."""
    chain = CORS(hello, origins=[re.compile("^https://good")])

    asked = await exchange(headers={"Origin": "https://good.example"}).through(chain)
    preflight = await exchange(method="OPTIONS", headers={"Origin": "https://good.example"}).through(chain)

    assert asked.headers["Access-Control-Allow-Origin"] == "https://good.example"
    assert asked.body == b"hello"
    assert (preflight.status, preflight.body) == (204, b"")
    assert preflight.headers["Access-Control-Allow-Methods"] == "POST, GET, OPTIONS, PUT, DELETE, PATCH"


async def test_ignores_other_origins(exchange: Make) -> None:
    """Grant nothing without an origin or to another one, and pass the request."""
    chain = CORS(hello, origins=[re.compile("^https://good")])

    for headers in ({}, {"Origin": "https://bad.example"}):
        done = await exchange(method="OPTIONS", headers=headers).through(chain)

        assert "Access-Control-Allow-Origin" not in done.headers
        assert done.body == b"hello"


async def test_sends_each_warning_once(exchange: Make) -> None:
    """Send each warning once as a Warning header, with escaped quotes."""

    async def warns(request: web.BaseRequest) -> web.StreamResponse:
        request[WARNINGS] += ['say "x"', 'say "x"', "", "line\nbreak"]
        return Reply(b"x")

    done = await exchange().through(WarningRecorder(warns))

    assert re.findall(rb"Warning: (.*)\r\n", done.wire.data) == [b'299 - "say \\"x\\""']


async def test_bounds_warnings(exchange: Make) -> None:
    """Shorten long warnings, and omit those above the limit."""

    async def warns(request: web.BaseRequest) -> web.StreamResponse:
        request[WARNINGS] += [f"{number:04d}{'x' * 400}" for number in range(100)]
        return Reply(b"x")

    done = await exchange().through(WarningRecorder(warns))

    texts = re.findall(rb'Warning: 299 - "(.*)"\r\n', done.wire.data)
    assert {len(text) for text in texts} == {256}
    assert len(texts) == 4096 // 256


async def test_writes_a_reply_at_once(exchange: Make) -> None:
    """Write status line, headers and body at once, and refuse line breaks in headers."""
    done = exchange()
    done.request[HEADERS] = {"Audit-Id": "1"}

    await done.through(_parts)

    assert done.wire.data.startswith(b"HTTP/1.1 201 Created\r\nAudit-Id: 1\r\n")
    assert (done.headers["Content-Length"], done.headers["Content-Type"], done.body) == ("3", "application/json", b"abc")


async def _parts(_request: web.BaseRequest) -> web.StreamResponse:
    return Reply((b"a", b"bc"), status=201)


async def test_sends_no_body_for_head(exchange: Make) -> None:
    """Send the headers of GET for HEAD, without the body."""
    done = await exchange(method="HEAD").through(hello)

    assert (done.headers["Content-Length"], done.body) == ("5", b"")


async def test_announces_the_end_of_the_connection(exchange: Make) -> None:
    """Send `Connection: close` with the last answer."""

    async def last(_request: web.BaseRequest) -> web.StreamResponse:
        reply = Reply(b"x")
        reply.force_close()
        return reply

    done = await exchange().through(last)

    assert done.headers["Connection"] == "close"
    assert done.response is not None
    assert not done.response.keep_alive


async def test_sends_headers_of_streams() -> None:
    """Send the filters' headers and the warnings before the first piece of a stream."""
    from aiohttp.test_utils import RawTestServer, TestClient

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        request[HEADERS] = {"Audit-Id": "1"}
        request[WARNINGS] = ["careful"]
        stream = ResponseStream(content_type="text/plain")
        await stream.prepare(request)
        await stream.write(b"piece")
        return stream

    client: TestClient[web.BaseRequest, None] = TestClient(RawTestServer(handler))
    async with client, client.get("/") as response:
        found = {name: response.headers[name] for name in ("Audit-Id", "Warning", "Content-Type")}
        assert found == {"Audit-Id": "1", "Warning": '299 - "careful"', "Content-Type": "text/plain"}
        assert await response.read() == b"piece"
