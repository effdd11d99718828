"""Sets the Audit-ID of each request (apiserver pkg/endpoints/filters/audit_init.go).

It also creates the response headers that later filters extend.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from aiohttp import web

from apiext.endpoints.request import HEADERS, Handler
from apiext.filters.step import FilterStep

HEADER = "Audit-Id"
_BATCH = 256
"""IDs per read of random bytes."""


def random_ids() -> Iterator[str]:
    """Yield random UUIDs (version 4) without end."""
    while True:
        digits = os.urandom(16 * _BATCH).hex()
        for start in range(0, len(digits), 32):
            text = digits[start : start + 32]
            yield f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


class AuditID(FilterStep):
    """Returns the client's Audit-ID, or a new one, with the answer."""

    def __init__(self, handler: Handler) -> None:
        super().__init__(handler)
        self._ids = random_ids()

    def enter(self, request: web.BaseRequest) -> None:
        """Set the header of the answer."""
        request[HEADERS] = {HEADER: request.headers.get(HEADER) or next(self._ids)}
