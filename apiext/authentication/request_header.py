"""Users in the headers of front proxies.

Mirrors apiserver pkg/authentication/request/headerrequest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from apiext.meta.request import UserInfo, authenticated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


RawHeaders = Sequence[tuple[bytes, bytes]]
"""Names and values of the headers of a request as received."""
_MALFORMED: Final = re.compile(r"%(?![0-9a-fA-F]{2})")
_MAX_USERS: Final = 1024
"""Maximum of cached users of a front proxy."""
_MAX_NAMES: Final = 1024
"""Maximum of header names with a cached purpose."""
_MAX_BYTES: Final = 4096
"""Maximum of bytes of the headers of a cached user."""


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


class FrontProxyUsers:
    """Reads the users in front-proxy headers. Equal headers are read once: a front proxy sends those of a user with each request."""

    def __init__(self, headers: RequestHeaders) -> None:
        self._headers = headers
        self._exact = frozenset(name.lower().encode() for name in (*headers.username, *headers.uid, *headers.group))
        self._prefixes = tuple(prefix.lower().encode() for prefix in headers.extra_prefixes)
        self._names: dict[bytes, bool] = {}
        """Whether a header is one of a user, by its name as received."""
        self._users: dict[tuple[tuple[bytes, bytes], ...], UserInfo | None] = {}

    @property
    def count(self) -> int:
        """Return the number of kept users."""
        return len(self._users)

    def user(self, headers: Mapping[str, str], raw: RawHeaders) -> UserInfo | None:
        """Return the authenticated user in the headers, None without a user name. `raw` are the same headers as received."""
        names = self._names
        key = tuple([pair for pair in raw if (names[pair[0]] if pair[0] in names else self._names_user(pair[0]))])
        try:
            return self._users[key]
        except KeyError:
            user = self._headers.user(headers)
            user = authenticated(user) if user is not None else None
            self._keep(key, user)
            return user

    def _names_user(self, name: bytes) -> bool:
        if len(self._names) >= _MAX_NAMES:
            self._names.clear()
        lower = name.lower()
        found = self._names[name] = lower in self._exact or lower.startswith(self._prefixes)
        return found

    def _keep(self, key: tuple[tuple[bytes, bytes], ...], user: UserInfo | None) -> None:
        if sum(len(name) + len(value) for name, value in key) > _MAX_BYTES:
            return
        if len(self._users) >= _MAX_USERS:
            self._users.clear()
        self._users[key] = user


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
