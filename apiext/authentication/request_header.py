"""Users in the headers of front proxies.

Mirrors apiserver pkg/authentication/request/headerrequest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from apiext.meta.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_MALFORMED: Final = re.compile(r"%(?![0-9a-fA-F]{2})")


@dataclass(frozen=True, slots=True)
class RequestHeaders:
    """Names of the front-proxy headers, in order of precedence."""

    username: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()

    def user(self, headers: Mapping[str, str]) -> UserInfo | None:
        """Return the user in the headers, None without a user name. `headers` may contain a name more than once."""
        name = _first(headers, self.username)
        if not name:
            return None
        groups = [text for header in self.group for text in _all(headers, header) if text]
        return UserInfo(name=name, uid=_first(headers, self.uid), groups=tuple(groups), extra=extra_fields(headers, self.extra_prefixes))


def extra_fields(headers: Mapping[str, str], prefixes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of headers with a prefix, by the rest of their names in lower case.

    Percent-escapes in a name are decoded, unless one is invalid.
    """
    extra: dict[str, list[str]] = {}
    for prefix in map(str.lower, prefixes):
        for header, text in headers.items():
            if header.lower().startswith(prefix):
                key = header.lower()[len(prefix) :]
                key = key if _MALFORMED.search(key) else unquote(key)
                extra.setdefault(key, []).append(text)
    return {key: tuple(texts) for key, texts in extra.items()}


def _first(headers: Mapping[str, str], names: Iterable[str]) -> str:
    return next((text for name in names if (text := headers.get(name, ""))), "")


def _all(headers: Mapping[str, str], name: str) -> list[str]:
    return [text for header, text in headers.items() if header.lower() == name.lower()]
