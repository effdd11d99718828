"""Users in the headers of front proxies.

Mirrors apiserver pkg/authentication/request/headerrequest.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from apiext.base.meta.request import UserInfo, authenticated

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


RawHeaders = Sequence[tuple[bytes, bytes]]
"""Names and values of the headers of a request as received."""
_MALFORMED: Final = re.compile(r"%(?![0-9a-fA-F]{2})")
_MAX_USERS: Final = 1024
"""Maximum of cached users of a front proxy."""
_MAX_NAMES: Final = 1024
"""Maximum of header names with a cached purpose."""
_MAX_USER_BYTES: Final = 512 * 1024
"""Maximum of bytes of a cached user, about 1,500 groups."""
_MAX_KEPT_BYTES: Final = 8 * 1024 * 1024
"""Maximum of bytes of all cached users."""
_HEADER_BYTES: Final = 256
"""Bytes of a header beside those of its name and value, as received and as part of a user."""


@dataclass(frozen=True, slots=True)
class RequestHeaders:
    """Names of the front-proxy headers, in order of precedence."""

    username: tuple[str, ...] = ()
    uid: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extra_prefixes: tuple[str, ...] = ()

    def user(self, headers: Mapping[str, str]) -> UserInfo | None:
        """Return the user in the headers, None without a user name. `headers` may contain a name more than once."""
        texts = _by_name(headers)
        name = _first(texts, self.username)
        if not name:
            return None
        groups = [text for header in self.group for text in texts.get(header.lower(), ()) if text]
        return UserInfo(name=name, uid=_first(texts, self.uid), groups=tuple(groups), extra=_extra(texts, self.extra_prefixes))


class FrontProxyUsers:
    """Reads the users in front-proxy headers. Equal headers are read once: a front proxy sends those of a user with each request."""

    def __init__(self, headers: RequestHeaders) -> None:
        self._headers = headers
        self._exact = frozenset(name.lower().encode() for name in (*headers.username, *headers.uid, *headers.group))
        self._prefixes = tuple(prefix.lower().encode() for prefix in headers.extra_prefixes)
        self._names: dict[bytes, bool] = {}
        """Whether a header is one of a user, by its name as received."""
        self._users: dict[tuple[tuple[bytes, bytes], ...], UserInfo | None] = {}
        self._kept_bytes = 0

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
        size = sum(len(name) + len(value) + _HEADER_BYTES for name, value in key)
        if size > _MAX_USER_BYTES:
            return
        if len(self._users) >= _MAX_USERS or self._kept_bytes + size > _MAX_KEPT_BYTES:
            self._users.clear()
            self._kept_bytes = 0
        self._users[key] = user
        self._kept_bytes += size


def extra_fields(headers: Mapping[str, str], prefixes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the values of headers with a prefix, by the rest of their names in lower case.

    Percent-escapes in a name are decoded, unless one is invalid.
    """
    return _extra(_by_name(headers), prefixes)


def _extra(texts: Mapping[str, Sequence[str]], prefixes: Iterable[str]) -> dict[str, tuple[str, ...]]:
    extra: dict[str, list[str]] = {}
    for prefix in map(str.lower, prefixes):
        for name, values in texts.items():
            if name.startswith(prefix):
                key = name[len(prefix) :]
                key = key if _MALFORMED.search(key) else unquote(key)
                extra.setdefault(key, []).extend(values)
    return {key: tuple(values) for key, values in extra.items()}


def _by_name(headers: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the values of headers by name in lower case, in one pass: a user may have thousands of groups."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for name, text in headers.items():
        found[name.lower()].append(text)
    return found


def _first(texts: Mapping[str, Sequence[str]], names: Iterable[str]) -> str:
    return next((values[0] for name in names if (values := texts.get(name.lower())) and values[0]), "")
