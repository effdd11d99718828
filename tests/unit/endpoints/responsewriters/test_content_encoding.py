"""JSON on its way: pieces, compression, other forms."""

import gzip
import zlib

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import RawTestServer, make_mocked_request

from apiext.endpoints.responsewriters.content_encoding import GZIP_THRESHOLD, PIECE, joined, send, takes_gzip
from apiext.endpoints.serializers.negotiation import MediaType


@pytest.mark.parametrize("sizes", [[], [1], [1, 2, 3], [PIECE, 1], [PIECE // 2] * 5, [1, PIECE * 3, 1]])
def test_joining(sizes: list[int]) -> None:
    """Items are joined with commas, whatever pieces they come in."""
    items = [bytes([97 + index]) * size for index, size in enumerate(sizes)]

    assert b"".join(joined(items)) == b",".join(items)


@pytest.mark.parametrize("header, takes", [("gzip", True), ("deflate, gzip ", True), ("gzip;q=1", False), ("br", False), ("", False)])
def test_who_takes_gzip(header: str, *, takes: bool) -> None:
    """The coding must stand there alone, as the reference looks for it."""
    assert takes_gzip(make_mocked_request("GET", "/", headers={"Accept-Encoding": header})) is takes


BODY = b'{"a":"' + b"x" * (GZIP_THRESHOLD * 4) + b'"}\n'


async def _fetch(data: bytes, media: MediaType, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return await send(request, media, [data[:10], data[10:]])

    async with RawTestServer(handler) as server, ClientSession(auto_decompress=False) as session:
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        async with session.request(method, server.make_url("/"), headers=sent, skip_auto_headers=("Accept-Encoding",)) as answer:
            return dict(answer.headers), await answer.read()


async def test_large_answers_come_whole() -> None:
    """A body of many pieces has its length told and nothing lost."""
    headers, body = await _fetch(BODY, MediaType())

    assert body == BODY
    assert headers["Content-Length"] == str(len(BODY))


async def test_compression() -> None:
    """Above the threshold, and only there, who takes gzip gets it."""
    headers, body = await _fetch(BODY, MediaType(), Accept_Encoding="gzip")

    assert (headers["Content-Encoding"], headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(body) == BODY
    assert zlib.decompressobj(31).decompress(body, 1) == b"{"
    headers, body = await _fetch(b'{"a":1}   \n', MediaType(), Accept_Encoding="gzip")
    assert "Content-Encoding" not in headers
    assert body == b'{"a":1}   \n'


async def test_other_forms() -> None:
    """YAML and indented JSON are made of the JSON; the latter has no line break at its end."""
    data = b'{"b":1,"a":{"c":[]}}\n'

    assert (await _fetch(data, MediaType("application/yaml")))[1] == b"a:\n  c: []\nb: 1\n"
    assert (await _fetch(data, MediaType(pretty=True)))[1] == b'{\n  "b": 1,\n  "a": {\n    "c": []\n  }\n}'


async def test_head_has_no_body() -> None:
    """HEAD tells the length of what GET would give."""
    headers, body = await _fetch(BODY, MediaType(), method="HEAD")

    assert (headers["Content-Length"], body) == (str(len(BODY)), b"")
