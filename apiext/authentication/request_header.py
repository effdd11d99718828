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
        """Return the user that the headers name, None without a user name. `headers` may hold a name more than once."""
        name = _first(headers, self.username)
        if not name:
            return None
        groups = [text for header in self.group for text in _all(headers, header) if text]
        return UserInfo(name=name, uid=_first(headers, self.uid), groups=tuple(groups), extra=self._extra(headers))

    def _extra(self, headers: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
        extra: dict[str, tuple[str, ...]] = {}
        for prefix in map(str.lower, self.extra_prefixes):
            for header, text in headers.items():
                if header.lower().startswith(prefix):
                    key = _unescaped(header.lower()[len(prefix) :])
                    extra[key] = (*extra.get(key, ()), text)
        return extra


class DynamicRequestHeaders:
    """Header names that may change while the server runs."""

    def __init__(self, current: RequestHeaders) -> None:
        self.current = current

    def user(self, headers: Mapping[str, str]) -> UserInfo | None:
        """Return the user that the current headers name, None without a user name."""
        return self.current.user(headers)


def _unescaped(key: str) -> str:
    """Return the key with percent-escapes decoded, unchanged where one is invalid."""
    return key if _MALFORMED.search(key) else unquote(key)


def _first(headers: Mapping[str, str], names: Iterable[str]) -> str:
    return next((text for name in names if (text := headers.get(name, ""))), "")


def _all(headers: Mapping[str, str], name: str) -> list[str]:
    return [text for header, text in headers.items() if header.lower() == name.lower()]
