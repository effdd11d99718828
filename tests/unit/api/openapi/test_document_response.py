"""Conditional and compressed responses."""

import gzip

import pytest
from aiohttp.test_utils import make_mocked_request

from apiext.api.endpoints.responsewriters.cached_document import Document
from apiext.api.endpoints.responsewriters.response import Reply
from apiext.api.openapi.handler import content_reply

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
    """Return Last-Modified without conditions, also where a range is requested."""
    reply = _ask(Range="bytes=0-1")

    assert (reply.status, _body(reply)) == (200, BODY)
    assert reply.extra_headers == {"Last-Modified": TIME, "Etag": '"A"', "Cache-Control": "public"}


@pytest.mark.parametrize(
    "header,text,code",
    [
        ("If_None_Match", '"A"', 304),
        ("If_None_Match", 'W/"A"', 304),
        ("If_None_Match", '"B" , "A"', 304),
        ("If_None_Match", "*", 304),
        ("If_None_Match", '"B"', 200),
        ("If_None_Match", "A", 200),
        ("If_Modified_Since", TIME, 304),
        ("If_Modified_Since", LATER, 304),
        ("If_Modified_Since", EARLIER, 200),
        ("If_Modified_Since", "yesterday", 200),
    ],
)
def test_evaluates_conditions(header: str, text: str, code: int) -> None:
    """Compare ETags weakly, and times to the second."""
    assert _ask(asked={header: text}).status == code


def test_headers_of_unmet_conditions() -> None:
    """Keep the ETag alone with 304, and answer other methods with the document."""
    assert _ask(If_None_Match="*").extra_headers == {"Etag": '"A"', "Cache-Control": "public"}
    assert _ask("POST", If_None_Match='"A"').status == 200


def test_compresses() -> None:
    """Compress large documents, but not for HEAD."""
    large = b"x" * 2000
    whole = _ask(body=large, compress=True, Accept_Encoding="gzip")
    head = _ask("HEAD", body=large, compress=True, Accept_Encoding="gzip")

    assert (gzip.decompress(_body(whole)), whole.extra_headers["Content-Encoding"]) == (large, "gzip")
    assert [one.extra_headers.get("Content-Encoding") for one in (head, _ask(body=large, Accept_Encoding="gzip"))] == [None, None]
