"""Gives each request an id and tells it to the client.

Mirrors apiserver pkg/endpoints/filters/audit_init.go. It also opens the response headers that later filters add to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from aiohttp import web

from apiext.endpoints.request import HEADERS, Handler
from apiext.filters.step import Step

HEADER = "Audit-Id"
_AT_ONCE = 256


def random_ids() -> Iterator[str]:
    """Random UUIDs (version 4) without end; randomness is fetched for many at once."""
    while True:
        digits = os.urandom(16 * _AT_ONCE).hex()
        for start in range(0, len(digits), 32):
            text = digits[start : start + 32]
            yield f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


class AuditID(Step):
    """Answers with the Audit-ID that the client sent, or with a new one."""

    def __init__(self, handler: Handler, *, new_id: Callable[[], str] | None = None) -> None:
        super().__init__(handler)
        self._new_id = new_id or random_ids().__next__

    def enter(self, request: web.BaseRequest) -> None:
        """Attach the id."""
        request[HEADERS] = {HEADER: request.headers.get(HEADER) or self._new_id()}
