"""Lets a user act as another one (apiserver pkg/endpoints/filters/impersonation)."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from aiohttp import web

from apiext.authorization.impersonation import Decide, Impersonation
from apiext.endpoints.request import INFO, USER, Handler
from apiext.endpoints.responsewriters.status import status_reply
from apiext.meta import errors, go_format
from apiext.meta.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

REQUESTOR: web.RequestKey[UserInfo] = web.RequestKey("requestor", UserInfo)
"""Who acts as the user of a request, or tried to."""
_PREFIX: Final = b"impersonate-"
_I: Final = ord("i")
_LOWER: Final = 0x20
"""The bit by which small letters differ from capital ones."""
_USER: Final = "Impersonate-User"
_UID: Final = "Impersonate-Uid"
_GROUP: Final = "Impersonate-Group"
_EXTRA: Final = "impersonate-extra-"
_MALFORMED: Final = re.compile(r"%(?![0-9a-f]{2})")
_NO_BYTES: Final = re.compile(r"[\ud800-\udfff]")
"""What stands for bytes that are not UTF-8."""
_NO_SNIFFING: Final = {"X-Content-Type-Options": "nosniff"}


class ImpersonationFilter:
    """A filter: requests with the reference's headers for it are of another user from here on.

    Answers 400 where headers tell more about a user than who it is, and 403 where who sends them may not.
    """

    def __init__(self, handler: Handler, *, decide: Decide, constrained: bool = True) -> None:
        self._handler = handler
        self._impersonation = Impersonation(decide, constrained=constrained)

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Pass the request on."""
        for name, _ in request.raw_headers:
            # every request comes here: one letter tells most headers from the few that count
            if name[0] | _LOWER == _I and name[:12].lower() == _PREFIX:
                return self._act(request)
        return self._handler(request)

    async def _act(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            wanted = wanted_user(request)
            if wanted is not None:
                request[REQUESTOR] = requestor = request[USER]
                request[USER] = await self._impersonation.user(requestor, wanted, request[INFO])
        except errors.StatusError as error:
            return status_reply(request, error, _NO_SNIFFING)
        return await self._handler(request)


def wanted_user(request: web.BaseRequest) -> UserInfo | None:
    """Whom the headers name, None where they name nobody. Raises StatusError: 400."""
    headers = request.headers
    name, uid = _readable(headers.get(_USER, "")), _readable(headers.get(_UID, ""))
    groups = tuple(map(_readable, headers.getall(_GROUP, ())))
    extra: dict[str, tuple[str, ...]] = {}
    for header, text in headers.items():
        if header[: len(_EXTRA)].lower() == _EXTRA:
            key = header[len(_EXTRA) :].lower()
            # one that is not well escaped stays as it is
            key = key if _MALFORMED.search(key) else unquote(key)
            extra[key] = (*extra.get(key, ()), _readable(text))
    if name:
        return UserInfo(name=name, groups=groups, uid=uid, extra=extra)
    if uid or groups or extra:
        shown = f'Name:"", UID:{go_format.quote(uid)}, Groups:{_strings(groups)}, Extra:{_shown(extra)}'
        raise errors.bad_request(f"requested &user.DefaultInfo{{{shown}}} without impersonating a user name")
    return None


def _readable(text: str) -> str:
    """The text as it can be told to others and written into answers: what is checked is what the user is called from then on."""
    return text if text.isascii() else _NO_BYTES.sub("\ufffd", text)


def _strings(texts: Sequence[str]) -> str:
    """A list as Go writes its source."""
    return f"[]string{{{', '.join(map(go_format.quote, texts))}}}" if texts else "[]string(nil)"


def _shown(extra: Mapping[str, Sequence[str]]) -> str:
    members = ", ".join(f"{go_format.quote(key)}:{_strings(texts)}" for key, texts in sorted(extra.items()))
    return f"map[string][]string{{{members}}}" if members else "map[string][]string(nil)"
