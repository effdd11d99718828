"""Sets the Audit-ID of each request (apiserver pkg/endpoints/filters/audit_init.go).

It also creates the response headers that later filters extend.
"""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.request import HEADERS, attach
from apiext.api.filters.before_request import FilterStep
from apiext.base.random_uuid import random_uuid

HEADER = "Audit-Id"


class AuditID(FilterStep):
    """Returns the client's Audit-ID, or a new one, with the answer."""

    def enter(self, request: web.BaseRequest) -> None:
        """Set the header of the answer."""
        attach(request, HEADERS, {HEADER: request.headers.get(HEADER) or random_uuid()})
