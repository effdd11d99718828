"""Heads of requests as Go's net/http reads them."""

import pytest

from apiext.server.http.requesthead import MAX_HEAD, RefusedError, check_unfinished, end_of_head, read_head, request_url


def _head(line: str = "GET / HTTP/1.1", *headers: str) -> bytes:
    return "\r\n".join([line, *(headers or ("Host: h",))]).encode("latin-1")


@pytest.mark.parametrize(
    "line,method,path,query",
    [
        ("FOO /a?b=c HTTP/1.1", "FOO", "/a", "b=c"),
        ("get / HTTP/1.1", "get", "/", ""),
        ("CONNECT /a HTTP/1.1", "CONNECT", "/a", ""),
        ("GET /a#b?c#d HTTP/1.2", "GET", "/a#b", "c%23d"),
        ("GET http://other/a HTTP/1.1", "GET", "/a", ""),
        ("GET http://other HTTP/1.1", "GET", "", ""),
        ("GET mailto:x HTTP/1.1", "GET", "", ""),
        ("GET * HTTP/1.1", "GET", "*", ""),
    ],
)
def test_request_lines(line: str, method: str, path: str, query: str) -> None:
    """Any token is a method, and only the path of a target counts."""
    head = read_head(_head(line))

    assert (head.method, head.url.path, head.url.raw_query_string) == (method, path, query)


@pytest.mark.parametrize(
    "data,status",
    [
        (_head("GET /"), "400 Bad Request"),
        (_head("G@T / HTTP/1.1"), "400 Bad Request"),
        (_head("GET / HTTP/x"), "400 Bad Request"),
        (_head("GET /%zz HTTP/1.1"), "400 Bad Request"),
        (_head("GET healthz HTTP/1.1"), "400 Bad Request"),
        (_head("GET / HTTP/2.0"), "505 HTTP Version Not Supported: unsupported protocol version"),
        (_head("GET / HTTP/1.1", "A: b"), "400 Bad Request: missing required Host header"),
        (_head("GET / HTTP/1.1", "Host: a", "Host: b"), "400 Bad Request"),
        (_head("GET / HTTP/1.1", "Host: a b"), "400 Bad Request: malformed Host header"),
        (_head("GET / HTTP/1.1", "Host: h", "A b: c"), "400 Bad Request: invalid header name"),
        (_head("GET / HTTP/1.1", "Host: h", "A : c"), "400 Bad Request: invalid header name"),
        (_head("GET / HTTP/1.1", "Host: h", "nothing"), "400 Bad Request"),
        (_head("GET / HTTP/1.1", "Host: h", ": c"), "400 Bad Request"),
        (_head("GET / HTTP/1.1", " Host: h"), "400 Bad Request"),
        (_head("GET / HTTP/1.1", "Host: h", "A: \x00"), "400 Bad Request"),
        (_head("GET / HTTP/1.1", "Host: h", "Content-Length: +5"), "400 Bad Request"),
        (_head("GET / HTTP/1.1", "Host: h", "Content-Length: 5", "Content-Length: 6"), "400 Bad Request"),
        (_head("GET / HTTP/1.1", "Host: h", "Content-Length: " + "9" * 19), "400 Bad Request"),
        (_head("GET / HTTP/1.1", "Host: h", "Transfer-Encoding: gzip"), "501 Not Implemented"),
        (_head("GET / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), "501 Not Implemented"),
    ],
)
def test_what_is_no_request(data: bytes, status: str) -> None:
    """Each is refused with the reference's status line."""
    with pytest.raises(RefusedError) as refused:
        read_head(data)

    assert refused.value.status == status


def test_framing() -> None:
    """The first of repeated lengths counts, chunks go before a length, and lines may be continued."""
    twice = read_head(_head("PUT / HTTP/1.1", "Host: h", "Content-Length: 5", "Content-Length: 5", "A: b", "  c"))
    both = read_head(_head("PUT / HTTP/1.1", "Host: h", "Content-Length: 5", "Transfer-Encoding: Chunked", "Connection: close"))

    assert (twice.length, twice.chunked, twice.headers["A"]) == (5, False, "b c")
    assert not twice.closes
    assert (both.length, both.chunked) == (0, True)
    assert both.closes


def test_old_clients_need_no_host() -> None:
    """HTTP/1.0 has no Host header, and knows no chunks."""
    head = read_head(_head("GET / HTTP/1.0", "Transfer-Encoding: gzip"))

    assert (head.version.minor, head.chunked) == (0, False)


def test_a_head_is_cut_where_it_ends() -> None:
    """A blank line of any kind ends it; without one there is more to come, up to a limit."""
    assert end_of_head(b"GET / HTTP/1.1\nHost: h\n\nbody\r\n\r\n", 0) == 24
    assert end_of_head(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n\n\n", 0) == 27
    assert end_of_head(b"GET / HTTP/1.1\r\nHost", 0) < 0
    check_unfinished(b"GET / HTTP/1.1\r\nHost")
    with pytest.raises(RefusedError, match="400"):
        check_unfinished(b"\x16\x03\x01garbage\r\n")
    with pytest.raises(RefusedError, match="431"):
        check_unfinished(b"GET / HTTP/1.1\r\nA: " + b"b" * MAX_HEAD)


@pytest.mark.parametrize(
    "line,headers,closes",
    [
        ("GET / HTTP/1.1", [], False),
        ("GET / HTTP/1.1", ["Connection: x, Close"], True),
        ("GET / HTTP/1.1", ["Connection: x", "Connection: close"], True),
        ("GET / HTTP/1.0", [], True),
        ("GET / HTTP/1.0", ["Connection: Keep-Alive"], False),
        ("GET / HTTP/1.0", ["Connection: keep-alive, close"], True),
    ],
)
def test_what_ends_a_connection(line: str, headers: list[str], *, closes: bool) -> None:
    """A word of the client, or its age."""
    assert read_head(_head(line, "Host: h", *headers)).closes is closes


def test_lines_that_go_on() -> None:
    """Even over a line of blanks."""
    assert read_head(_head("GET / HTTP/1.1", "Host: h", "A: b", " ", "\tc")).headers["A"] == "b  c"


def test_an_answer_ends_the_connection() -> None:
    """A refusal has a text, unless it says all with its status."""
    text = b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
    empty = b"HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    assert RefusedError().answer == text
    assert RefusedError("417 Expectation Failed", "").answer == empty


def test_control_characters_are_in_no_target() -> None:
    """Not even in a query."""
    with pytest.raises(RefusedError):
        request_url("/a?\x7f")
