"""HTTP Strict Transport Security (apiserver pkg/server/filters/hsts.go)."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from apiext.api.endpoints.request import HEADERS, Handler
from apiext.api.filters.before_request import FilterStep


class HSTS(FilterStep):
    """Sets Strict-Transport-Security on every answer."""

    def __init__(self, handler: Handler, *, directives: Sequence[str]) -> None:
        super().__init__(handler)
        self._value = "; ".join(directives)

    def enter(self, request: web.BaseRequest) -> None:
        """Set the header of the answer."""
        request[HEADERS]["Strict-Transport-Security"] = self._value
