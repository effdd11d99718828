"""URLs with the rules of Go's net/url, and the texts of its errors about likely mistakes. The standard library splits them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from apiext.base.meta.golang import formatting
from apiext.base.meta.limits import MAX_QUERY_PARAMETERS

_PATH_PUNCTUATION: Final = "-_.~!$&'()*+,;=/:@[]%"
"""What needs no escape in a path, besides letters and digits."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile("%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_BAD_IN_HOST: Final = re.compile(r"[ \\^`{|}]")
_HOST: Final = re.compile(r"(?P<name>\[(?P<ip>[^\[\]]*)\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL."""

    scheme: str
    user: str
    """User and password, escaped."""
    host: str
    """Host and port, unescaped."""
    path: str
    """The path with valid escapes."""
    raw_query: str
    fragment: str

    @property
    def hostname(self) -> str:
        """Return the host without port and brackets."""
        return self._host("ip") or self._host("name")

    @property
    def port(self) -> str:
        """Return the port as it is written."""
        return self._host("port")

    def _host(self, part: str) -> str:
        found = _HOST.fullmatch(self.host)
        return (found[part] or "") if found else ""

    def query(self) -> dict[str, list[str]]:
        """Return the values of each parameter, nothing if they are too many."""
        try:
            return parse_qs(self.raw_query, keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
        except ValueError:
            return {}


def parse_url(text: str) -> Url:
    """Parse an absolute or relative URL.

    Raises:
        ValueError: it is none.
    """
    try:
        if _CONTROL.search(text):
            raise ValueError("net/url: invalid control character in URL")
        parts = urlsplit(text)
        # the standard library drops a leading space
        if (not parts.scheme or text.startswith(" ")) and ":" in text.partition("/")[0]:
            raise ValueError("missing protocol scheme" if text.startswith(":") else "first path segment in URL cannot contain colon")
        if bad := _BAD_ESCAPE.search(parts.netloc) or _BAD_ESCAPE.search(parts.path):
            raise ValueError(f"invalid URL escape {formatting.quote(bad[0])}")
        user, _, host = parts.netloc.rpartition("@")
        _check_host(parts.scheme, host)
    except ValueError as error:
        raise ValueError(f"parse {formatting.quote(text)}: {error}") from None
    return Url(parts.scheme, user, unquote(host), quote(parts.path, _PATH_PUNCTUATION), parts.query, parts.fragment)


def parse_request_uri(text: str) -> Url:
    """Parse an absolute URL or an absolute path.

    Raises:
        ValueError: it is neither.
    """
    url = parse_url(text)
    if not url.scheme and not text.startswith("/"):
        raise ValueError(f"parse {formatting.quote(text)}: {'invalid URI for request' if text else 'empty url'}")
    if "#" in text and not url.path and not url.raw_query:
        raise ValueError(f'parse {formatting.quote(text)}: invalid character "#" in host name')
    return url


def _check_host(scheme: str, host: str) -> None:
    if bad := _BAD_IN_HOST.search(host):
        raise ValueError(f"invalid character {formatting.quote(bad[0])} in host name")
    if scheme not in {"http", "https"}:
        # URLs of databases may list several hosts, each with a port
        host = host.rpartition(",")[2]
    found = _HOST.fullmatch(host)
    if found is None:
        raise ValueError(f"invalid port {formatting.quote(host[host.rfind(':') :])} after host")
    if found["ip"] is not None:
        IPv6Address(unquote(found["ip"]))
