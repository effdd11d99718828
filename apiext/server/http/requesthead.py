"""The head of a request as the reference reads it: what is no request in its eyes, and what is one although few parsers take it.

Facts of Go's net/http (readRequest, server.go) and net/url (ParseRequestURI). Only odd requests get here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from aiohttp import HttpVersion, HttpVersion11, hdrs
from multidict import CIMultiDict
from yarl import URL

MAX_HEAD: Final = 1024 * 1024 + 4096
"""Bytes of a head; Go's DefaultMaxHeaderBytes and what its reader holds besides."""
_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VERSION: Final = re.compile(r"HTTP/(\d)\.(\d)", re.ASCII)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+\-.]*:")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_VALUE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
_HOST: Final = re.compile(r"[A-Za-z0-9!$%&'()*+,\-./:;=@\[\]_~]*")
_MOST_FIELDS: Final = 10_000
"""Go has no such limit; so many fields would keep all other requests waiting."""
_OTHER_VERSION: Final = "505 HTTP Version Not Supported: unsupported protocol version"
_TOO_LARGE: Final = "431 Request Header Fields Too Large"
_OTHER_CODING: Final = "501 Not Implemented"
_LENGTH: Final = re.compile(r"[0-9]+", re.ASCII)
_LONGEST_LENGTH: Final = 18
"""Digits of a length that surely is one of 64 bits."""


class RefusedError(Exception):
    """What is answered before any handler sees it: `status` ends the status line, `body` is the text."""

    def __init__(self, status: str = "400 Bad Request", body: str | None = None) -> None:
        super().__init__(status)
        self.status = status
        self.body = status if body is None else body

    @property
    def answer(self) -> bytes:
        """All that is sent; the connection ends with it."""
        about = "Content-Type: text/plain; charset=utf-8" if self.body else "Content-Length: 0"
        return f"HTTP/1.1 {self.status}\r\n{about}\r\nConnection: close\r\n\r\n{self.body}".encode()


@dataclass(frozen=True, slots=True)
class Head:
    """A request without its body."""

    method: str
    target: str
    """As it was sent."""
    url: URL
    version: HttpVersion
    headers: CIMultiDict[str]
    length: int
    chunked: bool

    @property
    def closes(self) -> bool:
        """Whether the connection ends with the answer."""
        tokens = {token.strip(" \t").lower() for text in self.headers.getall(hdrs.CONNECTION, ()) for token in text.split(",")}
        return "close" in tokens or (self.version < HttpVersion11 and "keep-alive" not in tokens)


def end_of_head(data: bytes | bytearray, start: int) -> int:
    """Where the head ends in data that has no such end before the start; negative where it is not there yet."""
    end = data.find(b"\n\r\n", start)
    other = data.find(b"\n\n", start, end if end >= 0 else len(data))
    if other >= 0:
        return other + 2
    return end + 3 if end >= 0 else -1


def check_unfinished(data: bytes | bytearray) -> None:
    """Raises RefusedError where no head can begin so."""
    newline = data.find(b"\n")
    if newline >= 0:
        _request_line(_text(bytes(data[:newline])))
    if len(data) > MAX_HEAD:
        raise RefusedError(_TOO_LARGE)


def read_head(data: bytes) -> Head:
    """The request of a complete head. Raises RefusedError."""
    first, *lines = _text(data).rstrip("\r\n").split("\n")
    if len(data) > MAX_HEAD or len(lines) > _MOST_FIELDS:
        raise RefusedError(_TOO_LARGE)
    method, target, version = _request_line(first)
    url = request_url(target)
    headers = _headers(lines)
    hosts = headers.getall(hdrs.HOST, [])
    if len(hosts) > 1:
        raise RefusedError
    chunked = _is_chunked(headers, version)
    length = _content_length(headers)
    check_version(version)
    if not hosts and version.minor and version.major == 1 and method != hdrs.METH_CONNECT:
        raise _bad("missing required Host header")
    check_host(hosts[0] if hosts else "")
    if not all(_TOKEN.fullmatch(name) for name in headers):
        raise _bad("invalid header name")
    check_handled(method, target, headers.get(hdrs.EXPECT))
    return Head(method, target, url, version, headers, 0 if chunked else length, chunked)


def request_url(target: str) -> URL:
    """The target of a request line as a URL; a path is all that counts of it. Raises RefusedError."""
    path, mark, query = target.partition("?")
    if _CONTROL.search(target) or not target:
        raise RefusedError
    if path.startswith("/"):
        pass
    elif scheme := _SCHEME.match(path):
        rest = path[scheme.end() :]
        # without slashes it names no path at all
        path = "" if not rest.startswith("/") else rest
        if rest.startswith("//"):
            path = "/" + rest[2:].partition("/")[2] if "/" in rest[2:] else ""
    elif path != "*":
        raise RefusedError
    if "%" in path and _BAD_ESCAPE.search(path):
        raise RefusedError
    return URL.build(path=path.replace("#", "%23"), query_string=query.replace("#", "%23") if mark else "", encoded=True)


def check_version(version: HttpVersion) -> None:
    """Raises RefusedError unless it is HTTP/1."""
    if version.major != 1:
        raise RefusedError(_OTHER_VERSION)


def check_host(text: str) -> None:
    """Raises RefusedError where a Host header cannot be one."""
    if not _HOST.fullmatch(text):
        raise _bad("malformed Host header")


def check_handled(method: str, target: str, expected: str | None) -> None:
    """Raises RefusedError where the answer does not depend on what is served."""
    if method == hdrs.METH_OPTIONS and target == "*":
        raise RefusedError("200 OK", "")
    if expected is not None and expected.lower() != "100-continue":
        raise RefusedError("417 Expectation Failed", "")


def _request_line(line: str) -> tuple[str, str, HttpVersion]:
    method, _, rest = line.removesuffix("\r").partition(" ")
    target, blank, text = rest.partition(" ")
    version = _VERSION.fullmatch(text)
    if not blank or not _TOKEN.fullmatch(method) or version is None:
        raise RefusedError
    return method, target, HttpVersion(int(version[1]), int(version[2]))


def _headers(lines: list[str]) -> CIMultiDict[str]:
    fields: list[str] = []
    for line in (line.removesuffix("\r") for line in lines):
        if not line.startswith((" ", "\t")):
            fields.append(line.rstrip(" \t"))
        elif fields:
            fields[-1] += " " + line.strip(" \t")
        else:
            raise RefusedError
    headers: CIMultiDict[str] = CIMultiDict()
    for field in filter(None, fields):
        name, colon, value = field.partition(":")
        if not colon or not name or _BAD_VALUE.search(value) or not _may_be_name(name):
            raise RefusedError
        headers.add(name, value.strip(" \t"))
    return headers


def _may_be_name(name: str) -> bool:
    """Whether it is a name, or one but for blanks inside, of which more is said later."""
    return all(_TOKEN.fullmatch(part) for part in name.split(" ") if part) and not name.startswith(" ")


def _is_chunked(headers: CIMultiDict[str], version: HttpVersion) -> bool:
    codings = headers.getall(hdrs.TRANSFER_ENCODING, [])
    if not codings or version < HttpVersion11:
        return False
    if len(codings) > 1 or codings[0].lower() != "chunked":
        raise RefusedError(_OTHER_CODING, "Unsupported transfer encoding")
    return True


def _content_length(headers: CIMultiDict[str]) -> int:
    lengths = set(headers.getall(hdrs.CONTENT_LENGTH, []))
    if not lengths:
        return 0
    if len(lengths) > 1:
        raise RefusedError
    text = lengths.pop()
    if not _LENGTH.fullmatch(text) or len(text.lstrip("0")) > _LONGEST_LENGTH:
        raise RefusedError
    headers[hdrs.CONTENT_LENGTH] = text
    return int(text)


def _bad(why: str) -> RefusedError:
    return RefusedError(f"400 Bad Request: {why}")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
