"""Creates the list of warnings of a request (apiserver pkg/endpoints/filters/warning.go).

api/endpoints/responsewriters/response.py sends them with the answer.
"""

from __future__ import annotations

from aiohttp import web

from apiext.api.endpoints.request import WARNINGS, attach
from apiext.api.filters.before_request import FilterStep


class WarningRecorder(FilterStep):
    """Attaches an empty list of warnings."""

    def enter(self, request: web.BaseRequest) -> None:
        """Attach the list."""
        attach(request, WARNINGS, [])
