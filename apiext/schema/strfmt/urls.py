"""URIs as Go's net/url.ParseRequestURI takes them."""

from __future__ import annotations

import re

from apiext.schema.strfmt.network import is_ipv6

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile("([A-Za-z][A-Za-z0-9+.-]*)?:")
_BAD_ESCAPE = re.compile("%(?![0-9a-fA-F]{2})")
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_PORT = re.compile("(?::[0-9]*)?")
_HOST = re.compile(r"""(?:[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"]|[^\x00-\x7f]|%25|%[89a-fA-F][0-9a-fA-F])*""")
_ZONE = re.compile(r"""(?:[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"]|[^\x00-\x7f]|%[0-9a-fA-F]{2})*""")
_ESCAPE = re.compile("%([0-9a-fA-F]{2})")
_ZONE_ESCAPABLE = re.compile(r"""[A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"% ]""")


def is_request_uri(text: str) -> bool:
    """Return whether a text is an absolute URI or an absolute path."""
    if not text or _CONTROL.search(text):
        return False
    if text == "*":
        return True
    scheme = _SCHEME.match(text)
    if scheme is not None and not scheme[1]:
        return False
    rest = (text[scheme.end() :] if scheme else text).partition("?")[0]
    if not rest.startswith("/"):
        return scheme is not None
    if scheme is not None and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        if not _is_authority(scheme[1].lower(), authority):
            return False
        rest = slash + path
    # A request has no fragment, so "#" belongs to the path.
    return _BAD_ESCAPE.search(rest) is None


def _is_authority(scheme: str, authority: str) -> bool:
    user, at, host = authority.rpartition("@")
    if not _is_host(scheme, host):
        return False
    return not at or (_USER.fullmatch(user) is not None and _BAD_ESCAPE.search(user) is None)


def _is_host(scheme: str, host: str) -> bool:
    bracket = host.rfind("[")
    if bracket >= 0:
        return bracket == 0 and _is_ip_literal(host)
    # The first colon precedes the port. Schemes of databases allow lists of hosts with ports: there it is the last one.
    colon = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if colon >= 0 and not _PORT.fullmatch(host[colon:]):
        return False
    return _HOST.fullmatch(host) is not None


def _is_ip_literal(host: str) -> bool:
    close = host.rfind("]")
    if close < 0 or not _PORT.fullmatch(host[close + 1 :]):
        return False
    address, percent, zone = host[1:close].partition("%25")
    if percent and not (zone and _is_zone(zone)):
        return False
    return is_ipv6(address)


def _is_zone(zone: str) -> bool:
    if not _ZONE.fullmatch(zone):
        return False
    return all(_ZONE_ESCAPABLE.fullmatch(chr(int(escape, 16))) for escape in _ESCAPE.findall(zone))
