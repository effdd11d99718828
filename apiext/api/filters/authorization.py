"""Refuses unauthorized requests (apiserver pkg/endpoints/filters/authorization.go)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from aiohttp import web

from apiext.api.authorization.authorizer import ALLOWED, AuthorizationModes, Decision, ReviewError, Verdict
from apiext.api.authorization.forbidden import forbidden
from apiext.api.authorization.front_proxy import AUTHORIZED_BY_HOST
from apiext.api.endpoints.request import AUDIT, AUTHORIZE, INFO, PROXIED_USER, USER, Handler, audit_of
from apiext.api.endpoints.responsewriters.status import internal_error_reply, status_reply
from apiext.api.filters.before_request import FilterStep, StepResult
from apiext.base.meta.request import RequestInfo, UserInfo

_DELETIONS: Final = ("delete", "deletecollection")
_MAY_CREATE: Final = ("patch", "update")
"""Verbs that need the create permission too if the object does not exist."""


class Authorization(FilterStep):
    """Passes a request if one of the modes allows it, or if its host has authorized it.

    Answers 403 otherwise, or 500 if its SubjectAccessReview failed. The modes alone decide on what else is asked for a request.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        modes: AuthorizationModes,
        authorized_by_host: Callable[[RequestInfo], bool] | None = None,
        unsafe_deletion: bool = True,
        audited: bool = False,
    ) -> None:
        """Create the filter. If requests are `audited`, it adds the decisions to their events.

        `authorized_by_host` is asked about requests that came over a front proxy.
        """
        super().__init__(handler)
        self._authorized_by_host = authorized_by_host
        self._audited = audited
        self._modes = modes
        self._unsafe_deletion = unsafe_deletion

    def enter(self, request: web.BaseRequest) -> StepResult:
        """Return 403 or 500 unless the user is authorized. Waits only for a SubjectAccessReview."""
        user, info = request[USER], request[INFO]
        begun = time.time_ns() if self._audited else 0
        # the host knows nothing of an impersonation that this server does
        if self._authorized_by_host is not None and request.get(PROXIED_USER) is user and self._authorized_by_host(info):
            return self._answer(request, user, info, AUTHORIZED_BY_HOST, begun)
        verdict = self._modes.authorize_here(user, info)
        if verdict is not ALLOWED and self._modes.delegate is not None and verdict.decision is Decision.NO_OPINION:
            return self._review(request)
        return self._answer(request, user, info, verdict, begun)

    async def _review(self, request: web.BaseRequest) -> web.StreamResponse | None:
        user, info = request[USER], request[INFO]
        audit = audit_of(request) if self._audited else None
        if audit is not None:
            audit.begin_authorization()
        try:
            verdict = await self._modes.authorize(user, info)
        except ReviewError as failure:
            if audit is not None:
                audit.fail_decision()
            return internal_error_reply(request, str(failure))
        return self._answer(request, user, info, verdict)

    def _answer(
        self, request: web.BaseRequest, user: UserInfo, info: RequestInfo, verdict: Verdict, begun: int = 0
    ) -> web.StreamResponse | None:
        allowed = verdict is ALLOWED or verdict.decision is Decision.ALLOW
        audit = request.get(AUDIT) if self._audited else None
        if audit is not None:
            if allowed:
                audit.allow(request, verdict.reason, begun)
            else:
                audit.attached(request).decide(verdict.reason, allowed=False, begun=begun)
        if not allowed:
            return status_reply(request, forbidden(user, info, verdict.reason), no_sniffing=True)
        if info.verb in _MAY_CREATE or (info.verb in _DELETIONS and self._unsafe_deletion):
            request[AUTHORIZE] = self._modes.authorize
        return None
