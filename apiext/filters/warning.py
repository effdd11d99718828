"""Opens the list of warnings that handlers add to (apiserver pkg/endpoints/filters/warning.go).

Whoever writes the answer sends them: endpoints/responsewriters/response.py.
"""

from __future__ import annotations

from aiohttp import web

from apiext.endpoints.request import WARNINGS
from apiext.filters.step import Step


class WarningRecorder(Step):
    """Attaches an empty list of warnings."""

    def enter(self, request: web.BaseRequest) -> None:
        """Attach it."""
        request[WARNINGS] = []
