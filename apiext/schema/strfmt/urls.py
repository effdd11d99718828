"""URIs accepted by Go's net/url.ParseRequestURI."""

from __future__ import annotations

from apiext.meta.golang.url import parse_request_uri


def is_request_uri(text: str) -> bool:
    """Return whether a text is an absolute URI or an absolute path."""
    try:
        parse_request_uri(text)
    except ValueError:
        return False
    return True
