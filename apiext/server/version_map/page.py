"""The page: one HTML document with its style and its script inside, and the policy that allows these two and nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from collections.abc import Mapping

_DATA: Final = "apiext.server.version_map"
_NO_DATA: Final = b"null"


@cache
def _part(name: str) -> str:
    return (files(_DATA) / "data" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _policy(*, is_live: bool) -> str:
    """Return the Content-Security-Policy. Only the live page may connect, to its own server; no page may submit or load anything."""
    connect = "'self'" if is_live else "'none'"
    rules = {
        "default-src": "'none'",
        "script-src": _digest(_part("page.js")),
        "style-src": _digest(_part("page.css")),
        "img-src": "data:",
        "connect-src": connect,
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def headers() -> Mapping[str, str]:
    """Return the headers of the live page."""
    return {
        "Content-Security-Policy": f"{_policy(is_live=True)}; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


@cache
def live_page() -> bytes:
    """Return the page that a server sends. It reads its data from the server."""
    return _page(_NO_DATA, is_live=True)


def saved_page(document: object) -> bytes:
    """Return the page with a document of the map inside, for a file."""
    # no text in the data may end its element
    data = json_codec.dumps(document, sort_keys=False).replace(b"<", b"\\u003c")
    return _page(data, is_live=False)


def _page(data: bytes, *, is_live: bool) -> bytes:
    parts = {
        b"%POLICY%": _policy(is_live=is_live).encode(),
        b"%STYLE%": _part("page.css").encode(),
        b"%DATA%": data,
        b"%SCRIPT%": _part("page.js").encode(),
    }
    before = _part("page.html").encode()
    done: list[bytes] = []
    # each placeholder once and in order, so that none in the data is replaced
    for name, content in parts.items():
        head, _, before = before.partition(name)
        done += [head, content]
    return b"".join([*done, before])
