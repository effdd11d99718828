"""A page: one HTML document with its style and its script inside, and the policy that allows these two and nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

_SHARED: Final = "apiext.base.pages"


def encoded(document: object) -> bytes:
    """Return a document as the data of a page."""
    # no text in the data may end its element
    return json_codec.dumps(document, sort_keys=False).replace(b"<", b"\\u003c")


class HtmlPage:
    """A page whose parts are in the folder `data` of a package: page.html, page.js, and page.css if it has styles of its own."""

    def __init__(self, package: str) -> None:
        self._package = package

    @cached_property
    def style(self) -> str:
        """Return the style that all pages share, then the page's own."""
        return self._joined("page.css")

    @cached_property
    def script(self) -> str:
        """Return the script that all pages share, then the page's own."""
        return self._joined("page.js")

    def policy(self, *, connects: bool) -> str:
        """Return the Content-Security-Policy: the page may not submit or load anything, and connect to its own server if it `connects`."""
        rules = {
            "default-src": "'none'",
            "script-src": _digest(self.script),
            "style-src": _digest(self.style),
            "img-src": "data:",
            "connect-src": "'self'" if connects else "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }
        return "; ".join(f"{name} {value}" for name, value in rules.items())

    def filled(self, data: bytes, *, connects: bool = False) -> bytes:
        """Return the page with data, from `encoded`."""
        parts = {
            b"%POLICY%": self.policy(connects=connects).encode(),
            b"%STYLE%": self.style.encode(),
            b"%DATA%": data,
            b"%SCRIPT%": self.script.encode(),
        }
        before = _file(self._package, "page.html").read_bytes()
        done: list[bytes] = []
        # each placeholder once and in order, so that none in the data is replaced
        for name, content in parts.items():
            head, _, before = before.partition(name)
            done += [head, content]
        return b"".join([*done, before])

    def _joined(self, name: str) -> str:
        found = [_file(package, name) for package in (_SHARED, self._package)]
        return "\n".join(file.read_text(encoding="utf-8") for file in found if file.is_file())


def _file(package: str, name: str) -> Traversable:
    return files(package) / "data" / name


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
