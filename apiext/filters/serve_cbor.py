"""CBOR beside the other media types (feature gate CBORServingAndStorage)."""

from __future__ import annotations

from aiohttp import web

from apiext.endpoints.request import SERVES_CBOR
from apiext.filters.before_request import FilterStep


class ServeCBOR(FilterStep):
    """Allows CBOR in content negotiation."""

    def enter(self, request: web.BaseRequest) -> None:
        """Mark the request."""
        request[SERVES_CBOR] = True
