"""Keeps answers out of shared caches (apiserver pkg/endpoints/filters/cachecontrol.go)."""

from __future__ import annotations

from aiohttp import web

from apiext.endpoints.request import HEADERS
from apiext.filters.step import Step


class CacheControl(Step):
    """Asks for `no-cache, private` on every answer that does not say otherwise: all of them depend on who asks."""

    def enter(self, request: web.BaseRequest) -> None:
        """Ask for it."""
        request[HEADERS]["Cache-Control"] = "no-cache, private"
