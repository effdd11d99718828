"""Pseudonyms for names: equal names get equal ones in an archive, and nobody can compute a name from its pseudonym."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import sqlite3
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_LENGTH: Final = 11
"""Characters after the first one: 55 bits, so that a million names hardly collide."""
_CACHED: Final = 100_000
_KEPT: Final = frozenset({"", "default", "kube-system", "kube-public", "kube-node-lease", "true", "false"})
"""Names that every cluster has, and values that say nothing."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?")
_SHORTEST_TOKEN: Final = 3
"""Characters of a name that is also replaced within longer texts."""


def is_kept(name: str) -> bool:
    """Report whether a name stays as it is."""
    return name in _KEPT or name.isdigit()


class Pseudonyms:
    """The names of a recording, and their pseudonyms: DNS labels of 12 characters.

    The names are in a temporary file: memory does not grow with their number.
    """

    def __init__(self, key: bytes | None = None) -> None:
        """Create the pseudonyms of an archive. Without a key, another archive of the same source gets other ones."""
        self._key = key or secrets.token_bytes(32)
        self._names = sqlite3.connect("", isolation_level=None)
        self._names.execute("PRAGMA journal_mode = OFF")
        self._names.execute("CREATE TABLE names (name PRIMARY KEY) WITHOUT ROWID")
        self._is_known = lru_cache(maxsize=_CACHED)(self._look_up)
        self._pseudonym = lru_cache(maxsize=_CACHED)(self._compute)

    def add(self, names: Iterable[str]) -> None:
        """Add names that `in_text` replaces. Names must be added before the first text."""
        self._names.executemany("INSERT OR IGNORE INTO names VALUES (?)", [(name,) for name in names if not is_kept(name)])

    def of(self, name: str) -> str:
        """Return the pseudonym of a name; the name itself if it is kept."""
        return name if is_kept(name) else self._pseudonym(name)

    def in_text(self, text: str) -> str:
        """Return a text with pseudonyms for known names: the whole text, parts between slashes, or words."""
        if self._is_known(text):
            return self.of(text)
        return "/".join(map(self._in_part, text.split("/")))

    def close(self) -> None:
        """Delete the temporary file."""
        self._names.close()

    def _in_part(self, part: str) -> str:
        if self._is_known(part):
            return self.of(part)
        return _TOKEN.sub(lambda found: self._in_word(found[0]), part)

    def _in_word(self, word: str) -> str:
        return self.of(word) if len(word) >= _SHORTEST_TOKEN and self._is_known(word) else word

    def _look_up(self, name: str) -> bool:
        return self._names.execute("SELECT 1 FROM names WHERE name = ?", (name,)).fetchone() is not None

    def _compute(self, name: str) -> str:
        digest = hmac.digest(self._key, name.encode("utf-8", "surrogatepass"), hashlib.sha256)
        return "n" + base64.b32encode(digest).decode().lower()[:_LENGTH]
