"""Query parameters, decoded as in Go (apimachinery pkg/runtime/conversion.go)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final
from urllib.parse import unquote_plus

from aiohttp import web

from apiext.api.endpoints.request import QUERY
from apiext.base.meta import errors, limits
from apiext.base.meta.golang import formatting

Query = dict[str, list[str]]
"""Values by name, in order."""

_INT: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_MALFORMED: Final = re.compile(r";|%(?![0-9A-Fa-f]{2})")
"""Matches parameters that Go drops."""
_MAX_DIGITS: Final = 40
_CACHED: Final = 512
"""Parsed queries that are kept: clients repeat theirs."""
_MAX_CACHED: Final = 256
"""Characters of a query up to which it is kept."""


def parse_query(request: web.BaseRequest) -> Query:
    """Return all well-formed parameters of a request, none if there are too many. Parse a long query once per request.

    Requests share the result: it must not be changed.
    """
    raw = request.rel_url.raw_query_string
    if not raw:
        return {}
    if len(raw) <= _MAX_CACHED:
        return _cached(raw)
    query = request.get(QUERY)
    if query is None:
        query = request[QUERY] = parse(raw) if raw.count("&") < limits.MAX_QUERY_PARAMETERS else {}
    return query


def parse(raw: str) -> Query:
    """Return all well-formed parameters of a raw query."""
    query: Query = {}
    for pair in raw.split("&"):
        if not pair or ((";" in pair or "%" in pair) and _MALFORMED.search(pair)):
            continue
        name, _, value = pair.partition("=")
        query.setdefault(_unescaped(name), []).append(_unescaped(value))
    return query


_cached: Final = lru_cache(maxsize=_CACHED)(parse)


def _unescaped(text: str) -> str:
    return unquote_plus(text) if "%" in text or "+" in text else text


def text(query: Query, name: str) -> str:
    """Return the first value, "" if there is none."""
    values = query.get(name)
    return values[0] if values else ""


def flag(query: Query, name: str) -> bool | None:
    """Return the first value as a boolean: false for `0` and `false`, else true; None if there is none."""
    values = query.get(name)
    return None if values is None else values[0] != "0" and values[0].lower() != "false"


def integer(query: Query, name: str) -> int | None:
    """Return the first value as a 64-bit integer, None if there is none.

    Raises:
        StatusError: 400 with the message of strconv.ParseInt if it is no such integer.
    """
    values = query.get(name)
    if values is None:
        return None
    value = values[0]
    if not _INT.fullmatch(value):
        raise errors.bad_request(f"strconv.ParseInt: parsing {formatting.quote(value)}: invalid syntax")
    number = int(value) if len(value) <= _MAX_DIGITS else 2**63
    if not -(2**63) <= number < 2**63:
        raise errors.bad_request(f"strconv.ParseInt: parsing {formatting.quote(value)}: value out of range")
    return number
