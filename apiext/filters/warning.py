"""Creates the list of warnings of a request (apiserver pkg/endpoints/filters/warning.go).

endpoints/responsewriters/response.py sends them with the answer.
"""

from __future__ import annotations

from aiohttp import web

from apiext.endpoints.request import WARNINGS, attach
from apiext.filters.before_request import FilterStep


class WarningRecorder(FilterStep):
    """Attaches an empty list of warnings."""

    def enter(self, request: web.BaseRequest) -> None:
        """Attach the list."""
        attach(request, WARNINGS, [])
