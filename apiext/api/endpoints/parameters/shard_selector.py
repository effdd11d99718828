"""The shardSelector of a list, a watch or a deletecollection (apiserver pkg/registry/generic/registry/store.go)."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import Final

from aiohttp import web

from apiext.api.endpoints.parameters.query_parameters import Query, text
from apiext.api.endpoints.request import SERVES_SHARDS
from apiext.base.meta import errors
from apiext.base.meta.limits import LONG_SELECTOR
from apiext.base.meta.objectmeta.sharding import ShardSelector

_CACHED: Final = 256
"""Parsed selectors that are kept: a client repeats its selector in every list and watch."""


async def shard_selector(request: web.BaseRequest, query: Query) -> ShardSelector | None:
    """Return the shard selector of a request; None without one, and while the server's feature gate is disabled.

    Raises:
        StatusError: 500 for a malformed selector, as in the reference.
    """
    expression = text(query, "shardSelector")
    if not expression or SERVES_SHARDS not in request:
        return None
    if len(expression) > LONG_SELECTOR:
        return await asyncio.to_thread(_parsed, expression)
    return _cached(expression)


def _parsed(expression: str) -> ShardSelector:
    # few servers read shard selectors
    from apiext.api.endpoints.parameters.shard_expression import ShardSelectorError, parse_shard_selector

    try:
        return parse_shard_selector(expression)
    except ShardSelectorError as error:
        raise errors.unknown(f"invalid shard selector: {error}") from error


_cached: Final = lru_cache(maxsize=_CACHED)(_parsed)
