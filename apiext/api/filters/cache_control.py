"""Excludes answers from shared caches (apiserver pkg/endpoints/filters/cachecontrol.go)."""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.request import HEADERS
from apiext.api.filters.before_request import FilterStep


class CacheControl(FilterStep):
    """Sets `Cache-Control: no-cache, private`, since every answer depends on the user."""

    def enter(self, request: web.BaseRequest) -> None:
        """Set the header of the answer."""
        request[HEADERS]["Cache-Control"] = "no-cache, private"
