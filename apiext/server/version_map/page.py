"""The page of the version map: live, or saved with its data."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from apiext.base.pages.page import HtmlPage, encoded

if TYPE_CHECKING:
    from collections.abc import Mapping

_PAGE: Final = HtmlPage("apiext.server.version_map")
_NO_DATA: Final = b"null"


def headers() -> Mapping[str, str]:
    """Return the headers of the live page."""
    return {
        "Content-Security-Policy": f"{_PAGE.policy(connects=True)}; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


@cache
def live_page() -> bytes:
    """Return the page that a server sends. It reads its data from the server."""
    return _PAGE.filled(_NO_DATA, connects=True)


def saved_page(document: object) -> bytes:
    """Return the page with a document of the map inside, for a file."""
    return _PAGE.filled(encoded(document))
