"""Conditions and ranges: what a client gets of a document."""

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
    document.made = MADE
    request = make_mocked_request(method, "/", headers={name.replace("_", "-"): text for name, text in (asked or headers).items()})
    return content_reply(request, document, {"Etag": document.etag, "Cache-Control": "public"}, compress=compress)


def _body(reply: Reply) -> bytes:
    return b"".join(reply.parts)


def test_the_whole() -> None:
    """Without conditions the document says when it was made, and that it can be had in parts."""
    reply = _ask()

    assert (reply.status, _body(reply)) == (200, BODY)
    assert reply._own == {"Last-Modified": TIME, "Etag": '"A"', "Cache-Control": "public", "Accept-Ranges": "bytes"}


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
def test_conditions(header: str, text: str, code: int) -> None:
    """ETags are compared weakly where the client has the document, strongly where it must be this one; times to the second."""
    assert _ask(asked={header: text}).status == code


def test_what_is_left_of_headers() -> None:
    """304 keeps the ETag alone, 412 all of them."""
    assert _ask(If_None_Match="*")._own == {"Etag": '"A"', "Cache-Control": "public"}
    assert _ask(If_Match='"B"')._own["Content-Type"] == "application/json"


def test_conditions_of_writes() -> None:
    """Who does not just read is refused where the document is known, and times do not matter to them."""
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
def test_ranges(asked: str, expected: bytes, place: str) -> None:
    """A part comes with its place."""
    reply = _ask(Range=asked)

    assert (reply.status, _body(reply), reply._own["Content-Range"]) == (206, expected, place)


@pytest.mark.parametrize("asked", ["0-3", "bytes=3", "bytes=3-1", "bytes=--1", "bytes=a-b", "bytes=-", "lines=1-2"])
def test_malformed_ranges(asked: str) -> None:
    """416 forgets what holds for the document alone."""
    reply = _ask(Range=asked)

    assert (reply.status, _body(reply)) == (416, b"invalid range\n")
    assert reply._own == {"X-Content-Type-Options": "nosniff"}


def test_ranges_beyond() -> None:
    """416 tells how many bytes there are."""
    reply = _ask(Range="bytes=10-")

    assert (reply.status, _body(reply)) == (416, b"invalid range: failed to overlap\n")
    assert reply._own["Content-Range"] == "bytes */10"


def test_several_ranges() -> None:
    """Several parts have their places in between; more than everything is everything."""
    reply = _ask(Range="bytes=0-1,-1")
    boundary = reply._type.partition("boundary=")[2]

    assert _body(reply).decode() == (
        f"--{boundary}\r\nContent-Range: bytes 0-1/10\r\nContent-Type: application/json\r\n\r\n01\r\n"
        f"--{boundary}\r\nContent-Range: bytes 9-9/10\r\nContent-Type: application/json\r\n\r\n9\r\n--{boundary}--\r\n"
    )
    assert _ask(Range="bytes=0-8,1-9").status == 200
    assert _ask(Range="bytes=").status == 200


@pytest.mark.parametrize("known,code", [('"A"', 206), ('W/"A"', 200), ('"B"', 200), (TIME, 206), (EARLIER, 200), ("junk", 200)])
def test_ranges_of_the_same_document(known: str, code: int) -> None:
    """A part is of no use to who has parts of another document."""
    assert _ask(Range="bytes=0-1", If_Range=known).status == code


def test_compressed() -> None:
    """What is large is compressed, parts too, but not for HEAD, which has no body."""
    large = b"x" * 2000
    whole = _ask(body=large, compress=True, Accept_Encoding="gzip")
    part = _ask(body=large, compress=True, Accept_Encoding="gzip", Range="bytes=0-1499")
    head = _ask("HEAD", body=large, compress=True, Accept_Encoding="gzip")

    assert (gzip.decompress(_body(whole)), whole._own["Content-Encoding"]) == (large, "gzip")
    assert (gzip.decompress(_body(part)), part._own["Content-Range"]) == (large[:1500], "bytes 0-1499/2000")
    assert [one._own.get("Content-Encoding") for one in (head, _ask(body=large, Accept_Encoding="gzip"))] == [None, None]
