"""The head of a request: checks the fields of a header block (RFC 9113, section 8), and gives aiohttp's form of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.http_parser import RawRequestMessage
from aiohttp.http_writer import HttpVersion
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from apiext.server.http.http2.header_decoder import Kind
from apiext.server.http.request_parser import check_head

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.server.http.http2.header_decoder import HeaderField

VERSION: Final = HttpVersion(2, 0)
_REQUIRED: Final = (":method", ":scheme", ":path")
_PSEUDO: Final = frozenset({*_REQUIRED, ":authority"})
_LENGTH: Final = "content-length"
_LENGTH_DIGITS: Final = 18
_NO_PATH: Final = re.compile(r"[\x00-\x20\x7f]")
_METHOD: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


class MalformedError(Exception):
    """A request is malformed: its stream is reset."""


class RequestHead(NamedTuple):
    """The head of a request."""

    message: RawRequestMessage | None
    length: int | None
    """The declared bytes of the body."""
    refusal: HttpProcessingError | None
    """Why the request is refused, although it is well-formed. Then there is no message."""


def read_head(fields: Sequence[HeaderField]) -> RequestHead:
    """Return the head of a request.

    Raises:
        MalformedError: RFC 9113 does not allow it.
    """
    given, regular = _split(fields)
    if any(not given.get(name) for name in _REQUIRED):
        raise MalformedError("a pseudo-header field is missing")
    path, method = given[":path"], given[":method"]
    if (path[0] != "/" and not (path == "*" and method == "OPTIONS")) or _NO_PATH.search(path) or not _METHOD.fullmatch(method):
        raise MalformedError(":path or :method is none")
    host = given.get(":authority")
    pairs, raw = [(field.name, field.value) for field in regular], [field.raw for field in regular]
    if host is not None and all(name != "host" for name, _ in pairs):
        pairs.insert(0, ("host", host))
        raw.insert(0, (b"host", host.encode(errors="surrogateescape")))
    _join_cookies(pairs)
    headers = CIMultiDictProxy(CIMultiDict(pairs))
    message = RawRequestMessage(method, path, VERSION, headers, tuple(raw), False, None, False, False, _url(path))  # noqa: FBT003
    try:
        check_head(message)
    except HttpProcessingError as error:
        return RequestHead(None, None, error)
    return RequestHead(message, _length(headers), None)


def check_trailers(fields: Sequence[HeaderField]) -> None:
    """Check the fields after a body.

    Raises:
        MalformedError: RFC 9113 does not allow them.
    """
    if any(field.kind is not Kind.REGULAR for field in fields):
        raise MalformedError("a field is not allowed after a body")


def _split(fields: Sequence[HeaderField]) -> tuple[dict[str, str], Sequence[HeaderField]]:
    """Return the pseudo-header fields, and the others, which come after them."""
    given: dict[str, str] = {}
    for place, field in enumerate(fields):
        if field.kind is not Kind.PSEUDO:
            others = fields[place:]
            if any(other.kind is not Kind.REGULAR for other in others):
                raise MalformedError("a field is not allowed here")
            return given, others
        if field.name not in _PSEUDO or field.name in given:
            raise MalformedError(f"{field.name} is not allowed here")
        given[field.name] = field.value
    return given, ()


def _join_cookies(pairs: list[tuple[str, str]]) -> None:
    """Join the crumbs of cookies into one field (RFC 9113, section 8.2.3)."""
    cookies = [value for name, value in pairs if name == "cookie"]
    if len(cookies) > 1:
        pairs[:] = [pair for pair in pairs if pair[0] != "cookie"]
        pairs.append(("cookie", "; ".join(cookies)))


def _length(headers: CIMultiDictProxy[str]) -> int | None:
    lengths = set(headers.getall(_LENGTH, ()))
    if not lengths:
        return None
    text = lengths.pop()
    if lengths or not (text.isascii() and text.isdigit()) or len(text) > _LENGTH_DIGITS:
        raise MalformedError("content-length is no number")
    return int(text)


def _url(path: str) -> URL:
    """Return the URL as aiohttp's parser of HTTP/1.1 does."""
    path, _, fragment = path.partition("#")
    path, _, query = path.partition("?")
    return URL.build(path=path, query_string=query, fragment=fragment, encoded=True)
