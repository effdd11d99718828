"""Filters of headers: each attaches some to the answer, whatever the request is for.

Mirrors apiserver pkg/endpoints/filters (audit_init.go, cachecontrol.go, warning.go) and pkg/server/filters/hsts.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from apiext.api.endpoints.request import HEADERS, WARNINGS, Handler
from apiext.api.filters.before_request import FilterStep
from apiext.base.random_uuid import random_uuid

HEADER = "Audit-Id"


class AuditID(FilterStep):
    """Returns the client's Audit-ID, or a new one, with the answer. Creates the headers that later filters extend."""

    def enter(self, request: web.BaseRequest) -> None:
        """Set the header of the answer."""
        request[HEADERS] = {HEADER: request.headers.get(HEADER) or random_uuid()}


class CacheControl(FilterStep):
    """Sets `Cache-Control: no-cache, private`, since every answer depends on the user."""

    def enter(self, request: web.BaseRequest) -> None:
        """Set the header of the answer."""
        request[HEADERS]["Cache-Control"] = "no-cache, private"


class HSTS(FilterStep):
    """Sets Strict-Transport-Security on every answer."""

    def __init__(self, handler: Handler, *, directives: Sequence[str]) -> None:
        super().__init__(handler)
        self._value = "; ".join(directives)

    def enter(self, request: web.BaseRequest) -> None:
        """Set the header of the answer."""
        request[HEADERS]["Strict-Transport-Security"] = self._value


class WarningRecorder(FilterStep):
    """Attaches an empty list of warnings, which the response writers send (api/endpoints/responsewriters/response.py)."""

    def enter(self, request: web.BaseRequest) -> None:
        """Attach the list."""
        request[WARNINGS] = []
