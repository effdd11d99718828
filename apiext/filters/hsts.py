"""Strict transport security (apiserver pkg/server/filters/hsts.go)."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from apiext.endpoints.request import HEADERS, Handler
from apiext.filters.step import Step


class HSTS(Step):
    """Sends the directives with every answer."""

    def __init__(self, handler: Handler, *, directives: Sequence[str]) -> None:
        super().__init__(handler)
        self._value = "; ".join(directives)

    def enter(self, request: web.BaseRequest) -> None:
        """Ask for them."""
        request[HEADERS]["Strict-Transport-Security"] = self._value
