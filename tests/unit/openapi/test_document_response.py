"""Conditional, partial and compressed responses."""

import gzip

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.endpoints.responsewriters.cached_document import Document
from apiext.endpoints.responsewriters.response import Reply
from apiext.openapi.document_response import content_reply

BODY = b"0123456789"
MADE = 1_700_000_000
TIME = "Tue, 14 Nov 2023 22:13:20 GMT"
LATER = "Tue, 14 Nov 2023 22:13:21 GMT"
EARLIER = "Tuesday, 14-Nov-23 22:13:19 GMT"


def _ask(method: str = "GET", *, body: bytes = BODY, compress: bool = False, asked: dict[str, str] | None = None, **headers: str) -> Reply:
    document = Document(body, "application/json", tag="A")
    document.created = MADE
    request = make_mocked_request(method, "/", headers={name.replace("_", "-"): text for name, text in (asked or headers).items()})
    return content_reply(request, document, {"Etag": document.etag, "Cache-Control": "public"}, compress=compress)


def _body(reply: Reply) -> bytes:
    return b"".join(reply.parts)


def test_returns_the_whole_document() -> None:
    """Return Last-Modified and Accept-Ranges without conditions."""
    reply = _ask()

    assert (reply.status, _body(reply)) == (200, BODY)
    assert reply._extra_headers == {"Last-Modified": TIME, "Etag": '"A"', "Cache-Control": "public", "Accept-Ranges": "bytes"}


@pytest.mark.parametrize(
    "header,text,code",
    [
        ("If_None_Match", '"A"', 304),
        ("If_None_Match", 'W/"A"', 304),
        ("If_None_Match", '"B" , "A"', 304),
        ("If_None_Match", "*", 304),
        ("If_None_Match", '"B"', 200),
        ("If_None_Match", "A", 200),
        ("If_None_Match", 'junk, "A"', 200),
        ("If_Match", '"A"', 200),
        ("If_Match", "*", 200),
        ("If_Match", 'W/"A"', 412),
        ("If_Match", '"B"', 412),
        ("If_Modified_Since", TIME, 304),
        ("If_Modified_Since", LATER, 304),
        ("If_Modified_Since", EARLIER, 200),
        ("If_Modified_Since", "Tue Nov 14 22:13:20 2023", 304),
        ("If_Modified_Since", "yesterday", 200),
        ("If_Unmodified_Since", TIME, 200),
        ("If_Unmodified_Since", EARLIER, 412),
        ("If_Unmodified_Since", "yesterday", 200),
    ],
)
def test_evaluates_conditions(header: str, text: str, code: int) -> None:
    """Compare ETags weakly for If-None-Match, strongly for If-Match, and times to the second."""
    assert _ask(asked={header: text}).status == code


def test_headers_of_unmet_conditions() -> None:
    """Keep the ETag alone with 304, and all headers with 412."""
    assert _ask(If_None_Match="*")._extra_headers == {"Etag": '"A"', "Cache-Control": "public"}
    assert _ask(If_Match='"B"')._extra_headers["Content-Type"] == "application/json"


def test_evaluates_conditions_of_writes() -> None:
    """Return 412 for other methods with a known ETag, and ignore times."""
    assert _ask("POST", If_None_Match='"A"').status == 412
    assert _ask("POST", If_Modified_Since=LATER).status == 200


@pytest.mark.parametrize(
    "asked,expected,place",
    [
        ("bytes=0-3", b"0123", "bytes 0-3/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=-2", b"89", "bytes 8-9/10"),
        ("bytes=-99", BODY, "bytes 0-9/10"),
        ("bytes=8-99", b"89", "bytes 8-9/10"),
        ("bytes= 1 - 2 ,", b"12", "bytes 1-2/10"),
        ("bytes=1-1,50-60", b"1", "bytes 1-1/10"),
    ],
)
def test_returns_a_range(asked: str, expected: bytes, place: str) -> None:
    """Return a range with Content-Range."""
    reply = _ask(Range=asked)

    assert (reply.status, _body(reply), reply._extra_headers["Content-Range"]) == (206, expected, place)


@pytest.mark.parametrize("asked", ["0-3", "bytes=3", "bytes=3-1", "bytes=--1", "bytes=a-b", "bytes=-", "lines=1-2"])
def test_rejects_malformed_ranges(asked: str) -> None:
    """Return 416 without the headers of the document."""
    reply = _ask(Range=asked)

    assert (reply.status, _body(reply)) == (416, b"invalid range\n")
    assert reply._extra_headers == {"X-Content-Type-Options": "nosniff"}


def test_rejects_ranges_beyond_the_end() -> None:
    """Return 416 with the size of the document."""
    reply = _ask(Range="bytes=10-")

    assert (reply.status, _body(reply)) == (416, b"invalid range: failed to overlap\n")
    assert reply._extra_headers["Content-Range"] == "bytes */10"


def test_returns_several_ranges() -> None:
    """Return several ranges as multipart, or the whole document where they are larger."""
    reply = _ask(Range="bytes=0-1,-1")
    boundary = reply._type.partition("boundary=")[2]

    assert _body(reply).decode() == (
        f"--{boundary}\r\nContent-Range: bytes 0-1/10\r\nContent-Type: application/json\r\n\r\n01\r\n"
        f"--{boundary}\r\nContent-Range: bytes 9-9/10\r\nContent-Type: application/json\r\n\r\n9\r\n--{boundary}--\r\n"
    )
    assert _ask(Range="bytes=0-8,1-9").status == 200
    assert _ask(Range="bytes=").status == 200


@pytest.mark.parametrize("known,code", [('"A"', 206), ('W/"A"', 200), ('"B"', 200), (TIME, 206), (EARLIER, 200), ("junk", 200)])
def test_evaluates_if_range(known: str, code: int) -> None:
    """Return the whole document where If-Range names another one."""
    assert _ask(Range="bytes=0-1", If_Range=known).status == code


def test_compresses() -> None:
    """Compress large documents and ranges, but not for HEAD."""
    large = b"x" * 2000
    whole = _ask(body=large, compress=True, Accept_Encoding="gzip")
    part = _ask(body=large, compress=True, Accept_Encoding="gzip", Range="bytes=0-1499")
    head = _ask("HEAD", body=large, compress=True, Accept_Encoding="gzip")

    assert (gzip.decompress(_body(whole)), whole._extra_headers["Content-Encoding"]) == (large, "gzip")
    assert (gzip.decompress(_body(part)), part._extra_headers["Content-Range"]) == (large[:1500], "bytes 0-1499/2000")
    assert [one._extra_headers.get("Content-Encoding") for one in (head, _ask(body=large, Accept_Encoding="gzip"))] == [None, None]
