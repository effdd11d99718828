"""Requests over HTTP/2: several at a time, bodies and answers within windows, resets, refusals and floods."""

import asyncio

import pytest
from h2.errors import ErrorCodes

from apiext.base.http2 import frames
from apiext.server.http.http2 import connection
from apiext.server.http.http2.connection import MAX_STREAMS
from apiext.server.options.options import Http2Options
from tests.support.event_loop import until
from tests.support.http2_site import Client, PlainHttp2, Site

HEAD = [(":method", "GET"), (":scheme", "https"), (":path", "/a")]


async def test_answers_a_request(client: Client) -> None:
    """Give the handler's status, fields and body; the authority is the host."""
    answer = await client.answer(client.request("/a?b=c%20d", "GET"))
    assert (answer.status, answer.body) == ("200", b"GET /a ")
    assert answer.headers["x-host"] == "localhost"
    assert answer.headers["content-length"] == "7"
    assert "date" in answer.headers
    assert "connection" not in answer.headers


async def test_answers_head_without_a_body(client: Client) -> None:
    """Tell the length of the body only."""
    answer = await client.answer(client.request("/a", "HEAD"))
    assert (answer.status, answer.headers["content-length"], answer.body) == ("200", "8", b"")


async def test_answers_requests_at_the_same_time(site: Site, client: Client) -> None:
    """Let a request that waits hold no other one."""
    waiting = [client.request(f"/wait/{number}") for number in range(20)]
    quick = await client.answer(client.request("/quick"))
    assert quick.body == b"GET /quick "
    site.gate.set()
    assert [(await client.answer(stream)).body for stream in waiting] == [b"GET /wait/%d " % number for number in range(20)]


async def test_receives_a_body_larger_than_the_windows(client: Client) -> None:
    """Grant what the handler has read."""
    stream = client.request("/a", "POST", ends=False)
    body = bytes(range(256)) * 8192
    await client.upload(stream, body)
    answer = await client.answer(stream)
    assert answer.body == b"POST /a " + body


async def test_grants_the_padding_of_a_body(client: Client) -> None:
    """Let padding use up no window for good."""
    stream = client.request("/a", "POST", ends=False)
    for _ in range(600):
        while client.h2.local_flow_control_window(stream) < 256:
            await client.receive()
        client.h2.send_data(stream, b"x", pad_length=254)
        client.flush()
    await client.upload(stream, b"")
    assert (await client.answer(stream)).body == b"POST /a " + b"x" * 600


async def test_sends_an_answer_larger_than_the_windows(site: Site, client: Client) -> None:
    """Wait for the client's windows, and divide it into frames."""
    site.large = bytes(range(256)) * 8192
    answer = await client.answer(client.request("/large"))
    assert answer.body == site.large
    assert answer.is_complete


async def test_a_stream_that_is_not_received_holds_no_other_one(site: Site, client: Client) -> None:
    """Keep what waits for the window of a stream away from the others."""
    client.h2.increment_flow_control_window(1 << 24)
    site.large = b"x" * (1 << 20)
    slow = client.request("/large")
    client.held.add(slow)
    while len(client.answers[slow].body) < frames.DEFAULT_WINDOW_BYTES:
        await client.receive()
    for number in range(20):
        assert (await client.answer(client.request(f"/{number}"))).status == "200"
    client.held.clear()
    client.h2.acknowledge_received_data(len(client.answers[slow].body), slow)
    client.flush()
    assert (await client.answer(slow)).body == site.large


async def test_streams_an_answer(site: Site, client: Client) -> None:
    """Send each part at once."""
    stream = client.request("/stream")
    while client.answers[stream].body != b"one two ":
        await client.receive()
    site.gate.set()
    assert (await client.answer(stream)).body == b"one two three"


async def test_sends_responses_of_aiohttp(client: Client) -> None:
    """Send a response that the project did not make."""
    answer = await client.answer(client.request("/plain"))
    assert (answer.status, answer.body, answer.headers["content-type"]) == ("200", b"aiohttp's", "text/plain; charset=utf-8")


async def test_a_reset_ends_the_handler(site: Site, client: Client) -> None:
    """Cancel the handler of a request that the client abandons."""
    stream = client.request("/wait")
    await until(lambda: site.seen == ["/wait"])
    client.h2.reset_stream(stream, ErrorCodes.CANCEL)
    client.flush()
    await until(lambda: site.cancelled == ["/wait"])
    assert (await client.answer(client.request("/a"))).status == "200"


async def test_a_lost_connection_ends_all_handlers(site: Site, client: Client) -> None:
    """Cancel the handlers of a client that disconnects."""
    for number in range(3):
        client.request(f"/wait/{number}")
    await until(lambda: len(site.seen) == 3)
    client.close()
    await until(lambda: len(site.cancelled) == 3)


async def test_an_incomplete_answer_is_reset(client: Client) -> None:
    """Let the client notice that an answer was aborted."""
    assert (await client.answer(client.request("/aborted"))).reset == ErrorCodes.INTERNAL_ERROR


async def test_an_error_of_the_handler_is_no_secret_told(client: Client) -> None:
    """Answer with 500, and keep the connection."""
    answer = await client.answer(client.request("/fails"))
    assert (answer.status, answer.body) == ("500", b"500 Internal Server Error")
    assert (await client.answer(client.request("/a"))).status == "200"


async def test_an_early_answer_ends_the_body(client: Client) -> None:
    """Ask the client to send no more of a body that nobody reads, and take what is on its way."""
    stream = client.request("/refused", "POST", ends=False)
    await client.upload(stream, b"x" * 1000, ends=False)
    answer = client.answers[stream]
    while answer.reset is None:
        await client.receive()
    assert (answer.status, answer.body, answer.reset) == ("403", b"refused", ErrorCodes.NO_ERROR)
    await client.send(frames.frame(frames.DATA, frames.END_STREAM, stream, b"late"))
    assert (await client.answer(client.request("/a"))).status == "200"


async def test_asks_for_an_expected_body(client: Client) -> None:
    """Send 100 when the handler reads the body; here nobody does that but the reader of bodies."""
    stream = client.request("/a", "POST", ("expect", "100-continue"), ends=False)
    await client.upload(stream, b"body")
    assert (await client.answer(stream)).body == b"POST /a body"


async def test_takes_fields_after_a_body(client: Client) -> None:
    """Ignore trailers."""
    stream = client.request("/a", "POST", ends=False)
    await client.upload(stream, b"body", ends=False)
    client.h2.send_headers(stream, [("checksum", "1")], end_stream=True)
    client.flush()
    assert (await client.answer(stream)).body == b"POST /a body"


async def test_a_stream_is_used_once(client: Client) -> None:
    """Close the connection of a client that begins a request on a stream that had one."""
    await client.answer(client.request("/a"))
    await client.send(frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, b"\x82"))
    ended = await client.end()
    assert ended is not None
    assert ended.error_code == ErrorCodes.STREAM_CLOSED


async def test_refuses_too_many_requests_at_a_time(site: Site, client: Client) -> None:
    """Refuse, so that the client can send it again, what exceeds the announced number."""
    for number in range(MAX_STREAMS):
        client.request(f"/wait/{number}")
    await until(lambda: len(site.seen) == MAX_STREAMS)
    client.h2.remote_settings[3] = 1000
    client.h2.remote_settings.acknowledge()
    assert (await client.answer(client.request("/more"))).reset == ErrorCodes.REFUSED_STREAM
    site.gate.set()
    assert (await client.answer(1)).status == "200"


@pytest.mark.parametrize(
    "head",
    [
        HEAD[1:],
        HEAD[:2],
        [*HEAD[:2], (":path", "")],
        [*HEAD[:2], (":path", "a")],
        [*HEAD[:2], (":path", "/a b")],
        [(":method", "G T"), *HEAD[1:]],
        [*HEAD, (":path", "/b")],
        [*HEAD, (":unknown", "a")],
        [("a", "b"), *HEAD],
        [*HEAD, ("Upper", "a")],
        [*HEAD, ("connection", "close")],
        [*HEAD, ("transfer-encoding", "chunked")],
        [*HEAD, ("te", "gzip")],
        [*HEAD, ("a b", "c")],
        [*HEAD, ("a", "b\nc")],
        [*HEAD, ("a", " b")],
        [*HEAD, ("content-length", "1")],
        [*HEAD, ("content-length", "x")],
        [*HEAD, ("content-length", "9" * 5000)],
        [*HEAD, ("content-length", "1"), ("content-length", "2")],
    ],
)
async def test_resets_malformed_requests(client: Client, site: Site, head: list[tuple[str, str]]) -> None:
    """Reset the stream of a request that RFC 9113 does not allow; the connection goes on."""
    assert (await client.answer(client.begin(head))).reset == ErrorCodes.PROTOCOL_ERROR
    assert (await client.answer(client.request("/good"))).status == "200"
    assert site.seen == ["/good"]


async def test_answers_what_http_refuses(client: Client, site: Site) -> None:
    """Answer requests that are well-formed and still refused as over HTTP/1.1."""
    answers = [
        await client.answer(client.request("/%zz")),
        await client.answer(client.request("/a", "GET", ("expect", "a miracle"))),
        await client.answer(client.request("/a", "GET", *[(f"f{number}", "") for number in range(1100)])),
    ]
    assert [(answer.status, answer.body) for answer in answers] == [
        ("400", b"400 Bad Request"),
        ("417", b""),
        ("431", b"431 Request Header Fields Too Large"),
    ]
    assert (await client.answer(client.request("/good", "GET", ("f1", "")))).status == "200"
    assert site.seen == ["/good"]


@pytest.mark.parametrize("declared, body", [("3", b"four"), ("5", b"four")])
async def test_resets_bodies_of_another_length(client: Client, declared: str, body: bytes) -> None:
    """Let nobody take a body for complete that is shorter or longer than declared."""
    stream = client.request("/a", "POST", ("content-length", declared), ends=False)
    await client.send(frames.frame(frames.DATA, frames.END_STREAM, stream, body))
    assert (await client.answer(stream)).reset == ErrorCodes.PROTOCOL_ERROR


async def test_joins_cookies(site: Site, client: Client) -> None:
    """Give the handler one field for the crumbs of cookies."""
    seen = []
    handle = site.handle

    async def note(request):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        seen.append(request.headers.getall("cookie"))
        return await handle(request)

    site.handle = note  # type: ignore[method-assign]
    await client.answer(client.request("/a", "GET", ("cookie", "a=1"), ("cookie", "b=2")))
    assert seen == [["a=1; b=2"]]


@pytest.mark.parametrize(
    "data, code",
    [
        (frames.frame(frames.SETTINGS, 0, 1), ErrorCodes.PROTOCOL_ERROR),
        (frames.frame(frames.SETTINGS, 0, 0, b"123"), ErrorCodes.FRAME_SIZE_ERROR),
        (frames.settings({frames.ENABLE_PUSH: 2}), ErrorCodes.PROTOCOL_ERROR),
        (frames.settings({frames.INITIAL_WINDOW_SIZE: 1 << 31}), ErrorCodes.FLOW_CONTROL_ERROR),
        (frames.frame(frames.PING, 0, 0, b"1"), ErrorCodes.FRAME_SIZE_ERROR),
        (frames.frame(frames.DATA, 0, 0), ErrorCodes.PROTOCOL_ERROR),
        (frames.frame(frames.DATA, 0, 5, b"a"), ErrorCodes.PROTOCOL_ERROR),
        (frames.frame(frames.RST_STREAM, 0, 7, b"1234"), ErrorCodes.PROTOCOL_ERROR),
        (frames.frame(frames.PUSH_PROMISE, 0, 1, b"1234"), ErrorCodes.PROTOCOL_ERROR),
        (frames.frame(frames.CONTINUATION, 0, 1), ErrorCodes.PROTOCOL_ERROR),
        (frames.frame(frames.HEADERS, frames.END_HEADERS, 2, b"\x82"), ErrorCodes.PROTOCOL_ERROR),
        (frames.frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), ErrorCodes.COMPRESSION_ERROR),
        (frames.frame(frames.HEADERS, frames.END_HEADERS, 1, b"\xbf"), ErrorCodes.COMPRESSION_ERROR),
        (frames.frame(frames.HEADERS, 0, 1, b"\x82") + frames.frame(frames.PING, 0, 0, b"12345678"), ErrorCodes.PROTOCOL_ERROR),
        (frames.window_update(0, 0), ErrorCodes.PROTOCOL_ERROR),
        (frames.window_update(0, (1 << 31) - 1), ErrorCodes.FLOW_CONTROL_ERROR),
        (frames.pack_header((1 << 20) << 8 | frames.DATA, 0, 1), ErrorCodes.FRAME_SIZE_ERROR),
        (frames.frame(frames.PRIORITY_FRAME, 0, 1, b"1"), ErrorCodes.FRAME_SIZE_ERROR),
    ],
)
async def test_closes_connections_that_violate_the_protocol(client: Client, data: bytes, code: ErrorCodes) -> None:
    """Say why, and close."""
    await client.send(data)
    ended = await client.end()
    assert ended is not None
    assert ended.error_code == code


async def test_ignores_what_it_does_not_know(client: Client) -> None:
    """Take frames and settings of extensions, priorities and acknowledgements for nothing."""
    await client.send(frames.frame(0x42, 0xFF, 1, b"anything") + frames.settings({0x42: 7}))
    await client.send(frames.frame(frames.PING, frames.ACK, 0, bytes(8)))
    await client.send(frames.frame(frames.PRIORITY_FRAME, 0, 3, b"\0\0\0\x01\x10"))
    assert (await client.answer(client.request("/a"))).status == "200"


async def test_another_protocol_is_refused(site: Site) -> None:
    """Close the connection of a client that talks HTTP/1.1."""
    host, port = site.listener.getsockname()[:2]
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    assert frames.goaway(frames.PROTOCOL_ERROR)[3:9] in await reader.read()
    writer.close()


async def test_floods_of_resets_end_the_connection(site: Site, client: Client) -> None:
    """Bound the requests that a client makes only to abandon them."""
    for _ in range(5 * MAX_STREAMS):
        client.h2.reset_stream(client.request("/wait"), ErrorCodes.CANCEL)
        client.flush()
    ended = await client.end()
    assert ended is not None
    assert ended.error_code == ErrorCodes.ENHANCE_YOUR_CALM
    assert len(site.seen) <= 4 * MAX_STREAMS + 1


async def test_floods_of_continuations_end_the_connection(client: Client) -> None:
    """Bound a header block, and the frames of one."""
    await client.send(frames.frame(frames.HEADERS, 0, 1, b"\x82") + frames.frame(frames.CONTINUATION, 0, 1) * 200)
    ended = await client.end()
    assert ended is not None
    assert ended.error_code == ErrorCodes.ENHANCE_YOUR_CALM


async def test_header_bombs_end_the_connection(client: Client) -> None:
    """Bound the fields that a short block stands for."""
    await client.send(frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, 1, b"\x82" * 10_000))
    ended = await client.end()
    assert ended is not None
    assert ended.error_code == ErrorCodes.ENHANCE_YOUR_CALM


async def test_floods_of_empty_frames_end_the_connection(client: Client) -> None:
    """Bound the frames that carry nothing."""
    stream = client.request("/a", "POST", ends=False)
    await client.send(frames.frame(frames.DATA, 0, stream) * 2000)
    ended = await client.end()
    assert ended is not None
    assert ended.error_code == ErrorCodes.ENHANCE_YOUR_CALM


async def test_answers_to_floods_of_pings_are_bounded(site: Site, client: Client) -> None:
    """Close the connection of a client that pings and receives nothing."""
    flood = frames.frame(frames.PING, 0, 0, bytes(8)) * 4000

    async def ping() -> None:
        while True:
            await client.send(flood)

    flooding = asyncio.create_task(ping())
    await until(lambda: site.server.open_connections)
    await until(lambda: not site.server.open_connections)
    flooding.cancel()


async def test_much_that_is_received_has_turns(site: Site, client: Client) -> None:
    """Process many frames a part at a time: other connections are answered meanwhile."""
    other = await site.connect()
    assert (await other.answer(other.request("/first"))).status == "200"
    await client.send(frames.frame(frames.PRIORITY_FRAME, 0, 3, b"\0\0\0\x01\x10") * 20_000)
    last = client.request("/last")
    assert (await other.answer(other.request("/second"))).status == "200"
    assert (await client.answer(last)).status == "200"


async def test_a_draining_server_asks_for_another_connection(site: Site, client: Client) -> None:
    """Finish what is under way, then close."""
    waiting = client.request("/wait")
    await until(lambda: site.seen == ["/wait"])
    site.server.drain()
    while client.goaway is None:
        await client.receive()
    assert (client.goaway.error_code, client.goaway.last_stream_id) == (ErrorCodes.NO_ERROR, frames.MAX_STREAM_ID)
    assert site.server.close_idle() == 1
    site.gate.set()
    assert (await client.answer(waiting)).body == b"GET /wait "
    await until(lambda: site.server.close_idle() == 0)
    ended = await client.end()
    assert ended is not None
    assert ended.last_stream_id == waiting


async def test_a_draining_server_holds_answers_until_no_request_comes(site: Site, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for another connection while the client waits: a front proxy of Go may fail a request that it is about to send."""
    monkeypatch.setattr(connection, "QUIET_SECONDS", 0.5)
    waiting = client.request("/wait")
    await until(lambda: site.seen == ["/wait"])
    site.server.drain()
    site.gate.set()
    later = client.request("/later")
    while client.goaway is None:
        assert not client.answers[waiting].is_complete
        await client.receive()
    assert site.seen == ["/wait", "/later"]
    assert [(await client.answer(stream)).body for stream in (waiting, later)] == [b"GET /wait ", b"GET /later "]


async def test_asks_some_clients_for_another_connection(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients connect anew with the given chance."""
    monkeypatch.setattr(PlainHttp2, "options", Http2Options(goaway_chance=1.0))
    client = await site.connect()
    assert (await client.answer(client.request("/a"))).status == "200"
    assert (await client.end()) is not None


async def test_announces_the_chosen_number_of_streams(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell the client how many requests it may have at a time."""
    monkeypatch.setattr(PlainHttp2, "options", Http2Options(max_streams=7))
    client = await site.connect()
    await client.answer(client.request("/a"))
    assert client.h2.remote_settings.max_concurrent_streams == 7


async def test_a_client_that_authenticates_may_send_more_ahead(client: Client) -> None:
    """Widen the window of the connection."""
    await client.answer(client.request("/a"))
    before = client.h2.outbound_flow_control_window
    await client.answer(client.request("/ann"))
    while client.h2.outbound_flow_control_window <= before:
        await client.receive()
    assert client.h2.outbound_flow_control_window == 1 << 26
