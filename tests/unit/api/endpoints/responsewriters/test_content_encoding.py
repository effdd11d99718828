"""Content encoding of JSON: pieces, compression, other formats."""

import asyncio
import gzip
import zlib
from collections.abc import Hashable, Sequence
from itertools import pairwise
from unittest import mock

import pytest
from aiohttp import ClientSession, web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.test_utils import RawTestServer, make_mocked_request

from apiext.api.endpoints.request import PROXIED_USER
from apiext.api.endpoints.responsewriters.content_encoding import GZIP_THRESHOLD, Encode, send
from apiext.api.endpoints.responsewriters.response import PIECE_BYTES, Reply, pieces
from apiext.api.endpoints.serializers.negotiation import MediaType
from apiext.base.meta.request import UserInfo
from apiext.base.scheduling import time_slice
from tests.support.event_loop import turns_of


@pytest.mark.parametrize("sizes", [[], [1], [1, 2, 3], [PIECE_BYTES, 1], [PIECE_BYTES // 2] * 5, [1, PIECE_BYTES * 3, 1]])
def test_joins_and_cuts_parts(sizes: list[int]) -> None:
    """Join small parts and cut large ones; lose no byte, and make no piece much larger than PIECE_BYTES."""
    parts = [bytes([97 + index]) * size for index, size in enumerate(sizes)]
    made = list(pieces(parts))

    assert b"".join(made) == b"".join(parts)
    assert all(len(piece) <= 2 * PIECE_BYTES for piece in made)


BODY = b'{"a":"' + b"x" * (GZIP_THRESHOLD * 4) + b'"}\n'


async def _fetch(data: bytes, media: MediaType, method: str = "GET", **headers: str) -> tuple[dict[str, str], bytes]:
    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        return await send(request, media, [data[:10], data[10:]])

    async with RawTestServer(handler) as server, ClientSession(auto_decompress=False) as session:
        sent = {name.replace("_", "-"): text for name, text in headers.items()}
        async with session.request(method, server.make_url("/"), headers=sent, skip_auto_headers=("Accept-Encoding",)) as answer:
            return dict(answer.headers), await answer.read()


async def test_sends_large_responses_completely() -> None:
    """Send a body of many pieces completely, with its length."""
    headers, body = await _fetch(BODY, MediaType())

    assert body == BODY
    assert headers["Content-Length"] == str(len(BODY))


@pytest.mark.parametrize("is_proxied", [True, False])
@pytest.mark.parametrize("is_last", [True, False])
async def test_does_not_compress_for_a_front_proxy(is_proxied: bool, is_last: bool) -> None:  # noqa: FBT001
    """Send a body as it is if the front proxy itself asks for compression, which is then the last header."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        if is_proxied:
            request[PROXIED_USER] = UserInfo(name="jane")
        return await send(request, MediaType(), [BODY])

    sent = [("Accept-Encoding", "gzip"), ("X-Remote-User", "jane")]
    skipped = ("Accept", "Accept-Encoding", "User-Agent")
    async with RawTestServer(handler) as server, ClientSession(auto_decompress=False) as session:
        headers = dict(reversed(sent) if is_last else sent)
        async with session.get(server.make_url("/"), headers=headers, skip_auto_headers=skipped) as answer:
            assert ("Content-Encoding" in answer.headers) is not (is_proxied and is_last)


async def test_compresses_above_the_threshold() -> None:
    """Compress bodies above the threshold only, for clients that accept gzip."""
    headers, body = await _fetch(BODY, MediaType(), Accept_Encoding="gzip")

    assert (headers["Content-Encoding"], headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert gzip.decompress(body) == BODY
    assert zlib.decompressobj(31).decompress(body, 1) == b"{"
    headers, body = await _fetch(b'{"a":1}   \n', MediaType(), Accept_Encoding="gzip")
    assert "Content-Encoding" not in headers
    assert body == b'{"a":1}   \n'


async def test_shares_formats_and_compression() -> None:
    """Make the form of a response, and its compression, through `share`, each under a key of its own."""
    made: dict[Hashable, Sequence[bytes]] = {}

    async def share(form: Hashable, encode: Encode) -> Sequence[bytes]:
        if form not in made:
            made[form] = await encode()
        return made[form]

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        pretty = "pretty" in request.query
        return await send(request, MediaType(pretty=pretty), [b'{"a":1}\n' if pretty else BODY], share=share)

    async with RawTestServer(handler) as server, ClientSession(auto_decompress=False) as session:
        bodies = []
        for query in ("", "", "?pretty", "?pretty"):
            async with session.get(server.make_url(f"/{query}"), headers={"Accept-Encoding": "gzip"}) as answer:
                bodies.append(await answer.read())
        async with session.get(server.make_url("/"), skip_auto_headers=("Accept-Encoding",)) as answer:
            assert await answer.read() == BODY

    assert list(made) == [("application/json", False, "gzip"), ("application/json", True)]
    assert bodies[0] == bodies[1] == b"".join(made["application/json", False, "gzip"])
    assert bodies[2] == bodies[3] == b'{\n  "a": 1\n}'


async def test_sends_yaml_and_indented_json() -> None:
    """Send YAML or indented JSON, the latter without a final line break."""
    data = b'{"b":1,"a":{"c":[]}}\n'

    assert (await _fetch(data, MediaType("application/yaml")))[1] == b"a:\n  c: []\nb: 1\n"
    assert (await _fetch(data, MediaType(pretty=True)))[1] == b'{\n  "b": 1,\n  "a": {\n    "c": []\n  }\n}'


async def test_head_sends_no_body() -> None:
    """Send the length of GET's body and no body for HEAD."""
    headers, body = await _fetch(BODY, MediaType(), method="HEAD")

    assert (headers["Content-Length"], body) == (str(len(BODY)), b"")


async def test_pauses_between_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let other tasks run between the pieces of a huge response."""
    monkeypatch.setattr(time_slice, "SLICE_SECONDS", 0)
    monkeypatch.setattr(time_slice, "SHARED_SLICE_SECONDS", 0)
    writer = mock.create_autospec(AbstractStreamWriter, instance=True)
    reply = Reply([b"x" * PIECE_BYTES] * 10)

    assert await turns_of(reply.prepare(make_mocked_request("GET", "/", writer=writer))) >= 10


async def test_writes_little_at_a_time() -> None:
    """Write at most 48 KiB of a huge response at a time, however large its parts are: TLS keeps a buffer of the largest write."""
    writer, written = mock.create_autospec(AbstractStreamWriter, instance=True), []
    writer.write.side_effect = lambda data: written.append(bytes(data))
    parts = [b"a" * (3 * PIECE_BYTES), b"b", b"c" * PIECE_BYTES]
    await Reply(parts).prepare(make_mocked_request("GET", "/", writer=writer))

    assert b"".join(written).endswith(b"".join(parts))
    assert max(map(len, written)) == 48 * 1024


async def test_huge_responses_begin_in_turn() -> None:
    """Write one of several huge responses at a time, although all are ready together."""
    written: list[int] = []

    async def send(number: int) -> None:
        writer = mock.create_autospec(AbstractStreamWriter, instance=True)
        writer.write.side_effect = lambda _data: written.append(number)
        await Reply([b"x" * PIECE_BYTES] * 2).prepare(make_mocked_request("GET", "/", writer=writer))

    tasks = [asyncio.create_task(send(number)) for number in range(5)]
    begun = []
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        begun.append(len(set(written)))

    assert all(after - before <= 1 for before, after in pairwise([0, *begun]))
