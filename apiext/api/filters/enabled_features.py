"""Features of requests that feature gates enable (CBORServingAndStorage, ShardedListAndWatch)."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from apiext.api.endpoints.request import Handler
from apiext.api.filters.before_request import FilterStep


class EnabledFeatures(FilterStep):
    """Allows CBOR in content negotiation, or shard selectors: whatever is enabled."""

    def __init__(self, handler: Handler, *, features: Sequence[web.RequestKey[bool]]) -> None:
        super().__init__(handler)
        self._features = features

    def enter(self, request: web.BaseRequest) -> None:
        """Mark the request with the features."""
        for feature in self._features:
            request[feature] = True
