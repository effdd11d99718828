"""Impersonation (apiserver pkg/endpoints/filters/impersonation)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Final

from aiohttp import web

from apiext.api.authentication.request_header import extra_fields
from apiext.api.authorization.authorizer import Authorize
from apiext.api.authorization.impersonation import Impersonation
from apiext.api.endpoints.request import INFO, USER, Handler, audit_of
from apiext.api.endpoints.responsewriters.status import status_reply
from apiext.base.meta import errors
from apiext.base.meta.encoding import utf8
from apiext.base.meta.golang import formatting
from apiext.base.meta.request import UserInfo

IMPERSONATOR: web.RequestKey[UserInfo] = web.RequestKey("requestor", UserInfo)
"""The authenticated user of a request with impersonation headers."""
_PREFIX: Final = b"impersonate-"
_I: Final = ord("i")
_LOWER: Final = 0x20
"""The bit that distinguishes ASCII lower case from upper case."""
_USER: Final = "Impersonate-User"
_UID: Final = "Impersonate-Uid"
_GROUP: Final = "Impersonate-Group"
_EXTRA: Final = "impersonate-extra-"


class ImpersonationFilter:
    """Replaces the user of requests with impersonation headers.

    Answers 400 to headers without a user name, and 403 unless the authenticated user may impersonate.
    """

    def __init__(self, handler: Handler, *, authorize: Authorize, constrained: bool = True, audited: bool = False) -> None:
        """Create the filter. If requests are `audited`, it adds the impersonated users to their events."""
        self._handler = handler
        self._audited = audited
        self._impersonation = Impersonation(authorize, constrained=constrained)

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """Return the handler's answer to the request, sent as the impersonated user if headers name one."""
        for name, _ in request.raw_headers:
            # compare one letter first: this runs for every header of every request
            if name[0] | _LOWER == _I and name[:12].lower() == _PREFIX:
                return self._impersonate(request)
        return self._handler(request)

    async def _impersonate(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            wanted = wanted_user(request)
            if wanted is not None:
                request[IMPERSONATOR] = requestor = request[USER]
                resolved = self._impersonation.user(requestor, wanted, request[INFO])
                audit = audit_of(request) if self._audited else None
                if audit is None:
                    request[USER], _ = await resolved
                else:
                    with audit.tracking("impersonation"):
                        request[USER], constraint = await resolved
                    audit.impersonate(request[USER], constraint)
        except errors.StatusError as error:
            return status_reply(request, error, no_sniffing=True)
        return await self._handler(request)


def wanted_user(request: web.BaseRequest) -> UserInfo | None:
    """Return the user in the impersonation headers, None without such headers.

    Raises:
        StatusError: 400, for groups, a UID or extra fields without a user name.
    """
    headers = request.headers
    name, uid = utf8.replaced(headers.get(_USER, "")), utf8.replaced(headers.get(_UID, ""))
    groups = tuple(map(utf8.replaced, headers.getall(_GROUP, ())))
    extra = {key: tuple(map(utf8.replaced, texts)) for key, texts in extra_fields(headers, (_EXTRA,)).items()}
    if name:
        return UserInfo(name=name, groups=groups, uid=uid, extra=extra)
    if uid or groups or extra:
        shown = f'Name:"", UID:{formatting.quote(uid)}, Groups:{_strings(groups)}, Extra:{_shown(extra)}'
        raise errors.bad_request(f"requested &user.DefaultInfo{{{shown}}} without impersonating a user name")
    return None


def _strings(texts: Sequence[str]) -> str:
    """Return a list in Go syntax."""
    return f"[]string{{{', '.join(map(formatting.quote, texts))}}}" if texts else "[]string(nil)"


def _shown(extra: Mapping[str, Sequence[str]]) -> str:
    members = ", ".join(f"{formatting.quote(key)}:{_strings(texts)}" for key, texts in sorted(extra.items()))
    return f"map[string][]string{{{members}}}" if members else "map[string][]string(nil)"
