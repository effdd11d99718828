"""URLs as Go's net/url reads and prints them, with its error texts.

The parts of a URL are bytes: inside, each byte is a character. In results, surrogate escapes stand for bytes that are no UTF-8.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from apiext.meta.golang.formatting import quote
from apiext.meta.golang.netip import parse_address
from apiext.meta.limits import MAX_QUERY_PARAMETERS

_UNRESERVED: Final = r"A-Za-z0-9\-_.~"
_SUB_DELIMITERS: Final = r"!$&'()*+,;="
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*)?:")
_PORT: Final = re.compile("(?::[0-9]*)?")
_USER: Final = re.compile(rf"[{_UNRESERVED}{_SUB_DELIMITERS}:%@]*")
_ESCAPE: Final = re.compile("%([0-9a-fA-F]{2})?")
_HOST_PART: Final = re.compile(rf"""%([0-9a-fA-F]{{2}})?|[^{_UNRESERVED}{_SUB_DELIMITERS}:\[\]<>"\x80-\xff]""")
_UNSAFE_IN_HOST: Final = re.compile(rf"""[^{_UNRESERVED}{_SUB_DELIMITERS}:\[\]<>"]""")
_UNSAFE_IN_USER: Final = re.compile(rf"[^{_UNRESERVED}$&+,;=]")
_UNSAFE_IN_PATH: Final = re.compile(rf"[^{_UNRESERVED}$&+,/:;=@]")
_UNSAFE_IN_FRAGMENT: Final = re.compile(rf"[^{_UNRESERVED}$&+,/:;=?@!()*]")
_VALID_PATH: Final = re.compile(rf"[{_UNRESERVED}{_SUB_DELIMITERS}/:@\[\]%]*")
_VALID_FRAGMENT: Final = re.compile(rf"[{_UNRESERVED}{_SUB_DELIMITERS}/:@\[\]%?]*")
_FIRST_NON_ASCII: Final = 0x80


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
        host = self._host_and_port[0]
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def port(self) -> str:
        """Return the port as it is written."""
        return self._host_and_port[1]

    @property
    def _host_and_port(self) -> tuple[str, str]:
        host, colon, port = self.host.rpartition(":")
        return (host, port) if colon and _PORT.fullmatch(f":{port}") else (self.host, "")

    def query(self) -> dict[str, list[str]]:
        """Return the values of each parameter; malformed parameters are left out, and all if they are too many."""
        raw = _bytes(self.raw_query or "")
        found: dict[str, list[str]] = {}
        if raw.count("&") >= MAX_QUERY_PARAMETERS:
            return found
        for part in raw.split("&"):
            key, _, value = part.replace("+", " ").partition("=")
            try:
                key, value = _unescaped(key), _unescaped(value)
            except ValueError:
                continue
            if part and ";" not in part:
                found.setdefault(_text(key), []).append(_text(value))
        return found

    def __str__(self) -> str:
        """Return the URL as Go prints it."""
        authority = ""
        if self.host or self.user is not None or (self.has_authority and self.scheme and self.path):
            user = "" if self.user is None else f"{self.user}@"
            authority = f"//{user}{_escaped(_bytes(self.host), _UNSAFE_IN_HOST)}"
        scheme = f"{self.scheme}:" if self.scheme else ""
        query = "" if self.raw_query is None else f"?{self.raw_query}"
        fragment = f"#{self.fragment}" if self.fragment else ""
        return f"{scheme}{self.opaque or authority + self.path}{query}{fragment}"


def parse_request_uri(text: str) -> Url:
    """Parse an absolute URI or an absolute path. A fragment counts as part of the text before it.

    Raises:
        ValueError: it is neither; the text is Go's.
    """
    try:
        return _parse(_bytes(text), request=True)
    except ValueError as error:
        raise _error(text, error) from None


def parse_url(text: str) -> Url:
    """Parse an absolute URI or an absolute path, with a fragment. The caller checks it with `parse_request_uri` first.

    Raises:
        ValueError: the text is Go's.
    """
    whole, _, fragment = _bytes(text).partition("#")
    try:
        url = _parse(whole, request=False)
    except ValueError as error:
        raise _error(_text(whole), error) from None
    if not fragment:
        return url
    try:
        return replace(url, fragment=_valid(fragment, _VALID_FRAGMENT, _UNSAFE_IN_FRAGMENT))
    except ValueError as error:
        raise _error(text, error) from None


def _error(text: str, error: ValueError) -> ValueError:
    return ValueError(f"parse {quote(text)}: {error}")


def _bytes(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("latin-1")


def _text(characters: str) -> str:
    return characters if characters.isascii() else characters.encode("latin-1").decode("utf-8", "surrogateescape")


def _parse(text: str, *, request: bool) -> Url:
    if _CONTROL.search(text):
        raise ValueError("net/url: invalid control character in URL")
    if not text:
        raise ValueError("empty url")
    if text == "*":
        return Url(path=text)
    found = _SCHEME.match(text)
    scheme = found[1] if found else ""
    if scheme is None:
        raise ValueError("missing protocol scheme")
    scheme, rest = scheme.lower(), text[found.end() :] if found else text
    rest, question, query = rest.partition("?")
    raw_query = _text(query) if question else None
    if not rest.startswith("/"):
        if not scheme:
            raise ValueError("invalid URI for request")
        return Url(scheme=scheme, opaque=_text(rest), raw_query=raw_query)
    has_authority = rest.startswith("//") and (bool(scheme) or not (request or rest.startswith("///")))
    user, host = None, ""
    if has_authority:
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        user, host = _authority(scheme, authority)
    path = _valid(rest, _VALID_PATH, _UNSAFE_IN_PATH)
    return Url(scheme=scheme, user=user, has_authority=has_authority, host=_text(host), path=path, raw_query=raw_query)


def _authority(scheme: str, authority: str) -> tuple[str | None, str]:
    user, at, host = authority.rpartition("@")
    host = _host(scheme, host)
    if not at:
        return None, host
    if not _USER.fullmatch(user):
        raise ValueError("net/url: invalid userinfo")
    name, colon, password = user.partition(":")
    return _escaped(_unescaped(name), _UNSAFE_IN_USER) + colon + _escaped(_unescaped(password), _UNSAFE_IN_USER), host


def _host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        raise ValueError("invalid IP-literal")
    if bracket == 0:
        return _literal(host)
    # The first colon precedes the port. Schemes of databases allow lists of hosts with ports: there it is the last one.
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0:
        _check_port(host[colon:])
    return _unescaped_host(host)


def _literal(host: str) -> str:
    """Return the host of an IPv6 address in brackets, unescaped. Raises ValueError."""
    close = host.rfind("]")
    if close < 0:
        raise ValueError("missing ']' in host")
    _check_port(host[close + 1 :])
    address, percent, zone = host[1:close].partition("%25")
    name = _unescaped_host(address) + (_unescaped_host(percent + zone, zone=True) if percent else "")
    try:
        parsed, _ = parse_address(_text(name))
    except ValueError as error:
        raise ValueError(f"invalid host: {error}") from None
    if parsed.version == 4:
        raise ValueError("invalid IP-literal")
    return f"[{name}]{host[close + 1 :]}"


def _check_port(port: str) -> None:
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {quote(_text(port))} after host")


def _unescaped_host(host: str, *, zone: bool = False) -> str:
    """Return a host without escapes; only bytes beyond ASCII, and in zones what a host may have, may be escaped. Raises ValueError."""
    for found in _HOST_PART.finditer(host):
        if not found[0].startswith("%"):
            raise ValueError(f"invalid character {quote(found[0])} in host name")
        code = int(found[1], 16) if found[1] else -1
        allowed = code >= _FIRST_NON_ASCII
        if zone:
            allowed = code == ord(" ") or (code >= 0 and not _UNSAFE_IN_HOST.match(chr(code)))
        if not allowed and found[0] != "%25":
            raise _bad_escape(host, found.start())
    return _unescaped(host)


def _unescaped(text: str) -> str:
    """Replace escapes by their bytes. Raises ValueError."""
    if "%" not in text:
        return text

    def byte(found: re.Match[str]) -> str:
        if not found[1]:
            raise _bad_escape(text, found.start())
        return chr(int(found[1], 16))

    return _ESCAPE.sub(byte, text)


def _bad_escape(text: str, position: int) -> ValueError:
    return ValueError(f"invalid URL escape {quote(_text(text[position : position + 3]))}")


def _escaped(text: str, unsafe: re.Pattern[str]) -> str:
    return unsafe.sub(lambda found: f"%{ord(found[0]):02X}", text)


def _valid(text: str, valid: re.Pattern[str], unsafe: re.Pattern[str]) -> str:
    """Return a text with well-formed escapes as it is if all else in it may stay, else escaped anew. Raises ValueError."""
    plain = _unescaped(text)
    return text if valid.fullmatch(text) else _escaped(plain, unsafe)
