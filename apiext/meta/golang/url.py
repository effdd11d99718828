"""URLs as Go's net/url reads and prints them, with the texts of its errors about likely mistakes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs, quote, unquote

from apiext.meta.golang import formatting
from apiext.meta.golang.netip import parse_address
from apiext.meta.limits import MAX_QUERY_PARAMETERS

_PUNCTUATION: Final = "-_.~!$&'()*+,;="
"""What needs no escape in any part, besides letters and digits."""
_HOST_PUNCTUATION: Final = f'{_PUNCTUATION}:[]<>%"'
_PARTS: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):(?P<opaque>(?![/?])[^?]*)?)?(?P<authority>//[^/?]*)?(?P<path>[^?]*)(?:\?(?P<query>.*))?",
    re.DOTALL,
)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_BAD_ESCAPE_IN_HOST: Final = re.compile("%(?!25|[89A-Fa-f][0-9A-Fa-f]).{0,2}", re.DOTALL)
_USER: Final = re.compile(rf"[A-Za-z0-9{re.escape(_PUNCTUATION)}:%@]*")
_BAD_IN_HOST: Final = re.compile(r"[\x00-\x20#/?@\[\\\]^`{|}\x7f]")
_LITERAL: Final = re.compile(r"(?P<address>\[(?P<ip>[^\]%]*)(?:%25(?P<zone>[A-Za-z0-9._~-]+))?\])(?P<port>.*)")
_PORT: Final = re.compile("(?::[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL."""

    scheme: str = ""
    opaque: str = ""
    user: str | None = None
    """User and password, escaped."""
    has_authority: bool = False
    host: str = ""
    """Host and port, unescaped."""
    path: str = ""
    """The path with valid escapes."""
    raw_query: str | None = None
    """The text after the question mark, None if there is none."""
    fragment: str = ""
    """The fragment with valid escapes."""

    @property
    def hostname(self) -> str:
        """Return the host without port and brackets."""
        return self.host.removesuffix(f":{self.port}" if self._has_port else "").removeprefix("[").removesuffix("]")

    @property
    def port(self) -> str:
        """Return the port as it is written."""
        return self.host.rpartition(":")[2] if self._has_port else ""

    @property
    def _has_port(self) -> bool:
        _, colon, port = self.host.rpartition(":")
        return bool(colon) and _PORT.fullmatch(f":{port}") is not None

    def query(self) -> dict[str, list[str]]:
        """Return the values of each parameter, nothing if they are too many."""
        try:
            return parse_qs(self.raw_query or "", keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
        except ValueError:
            return {}

    def __str__(self) -> str:
        """Return the URL as Go prints it."""
        authority = ""
        if self.host or self.user is not None or (self.has_authority and self.scheme and self.path):
            user = "" if self.user is None else f"{self.user}@"
            authority = f"//{user}{quote(self.host, _HOST_PUNCTUATION)}"
        scheme = f"{self.scheme}:" if self.scheme else ""
        query = "" if self.raw_query is None else f"?{self.raw_query}"
        fragment = f"#{self.fragment}" if self.fragment else ""
        return f"{scheme}{self.opaque or authority + self.path}{query}{fragment}"


def parse_request_uri(text: str) -> Url:
    """Parse an absolute URI or an absolute path. A fragment counts as part of the text before it.

    Raises:
        ValueError: it is neither.
    """
    return _parse(text, request=True)


def parse_url(text: str) -> Url:
    """Parse an absolute URI or an absolute path, with a fragment. The caller checks it with `parse_request_uri` first.

    Raises:
        ValueError: it is neither.
    """
    whole, _, fragment = text.partition("#")
    return _parse(whole, request=False, fragment=fragment)


def _parse(text: str, *, request: bool, fragment: str = "") -> Url:
    found = _PARTS.fullmatch(text)
    if found is None:
        raise ValueError(f"parse {formatting.quote(text)}: invalid URI for request")
    scheme, path, authority = (found["scheme"] or "").lower(), found["path"], found["authority"] or ""
    if not scheme and authority and (request or (authority == "//" and path.startswith("/"))):
        # a path that begins with two slashes
        authority, path = "", authority + path
    try:
        _check(text, scheme)
        _check_escapes(path, fragment)
        user, at, host = authority.removeprefix("//").rpartition("@")
        if at and not _USER.fullmatch(user):
            raise ValueError("net/url: invalid userinfo")
        _check_escapes(user)
        host = _host(scheme, host)
    except ValueError as error:
        raise ValueError(f"parse {formatting.quote(text)}: {error}") from None
    return Url(
        scheme=scheme,
        opaque=found["opaque"] or "",
        user=user if at else None,
        has_authority=bool(authority),
        host=host,
        path=quote(path, f"{_PUNCTUATION}/:@[]%"),
        raw_query=found["query"],
        fragment=quote(fragment, f"{_PUNCTUATION}/:@[]%?"),
    )


def _check(text: str, scheme: str) -> None:
    """Raise ValueError for a text that is neither an absolute URI nor an absolute path."""
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if text.startswith(":"):
        raise ValueError("missing protocol scheme")
    if not scheme and text != "*" and not text.startswith("/"):
        raise ValueError("invalid URI for request")


def _check_escapes(*parts: str) -> None:
    for part in parts:
        if bad := _BAD_ESCAPE.search(part):
            raise ValueError(f"invalid URL escape {formatting.quote(bad[0])}")


def _host(scheme: str, host: str) -> str:
    """Return host and port, unescaped. Raises ValueError."""
    if host.startswith("["):
        found = _LITERAL.fullmatch(host)
        if found is None:
            raise ValueError("missing ']' in host" if "]" not in host else "invalid host")
        _check_port(found["port"])
        _check_escapes(host)
        try:
            address, _ = parse_address(found["ip"])
        except ValueError as error:
            raise ValueError(f"invalid host: {error}") from None
        if address.version == 4:
            raise ValueError("invalid IP-literal")
        return unquote(host)
    if "[" in host:
        raise ValueError("invalid IP-literal")
    # The first colon precedes the port. Schemes of databases allow lists of hosts with ports: there it is the last one.
    colon = host.find(":") if scheme in {"http", "https"} else host.rfind(":")
    if colon >= 0:
        _check_port(host[colon:])
    if bad := _BAD_IN_HOST.search(host):
        raise ValueError(f"invalid character {formatting.quote(bad[0])} in host name")
    if bad := _BAD_ESCAPE_IN_HOST.search(host):
        raise ValueError(f"invalid URL escape {formatting.quote(bad[0])}")
    return unquote(host)


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {formatting.quote(port)} after host")
