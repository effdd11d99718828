"""When two JSON values are the same to Go: true is not 1, and 1.0 is not 1."""

from __future__ import annotations

from typing import Any

import orjson

from apiext.meta import deep


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, whatever the order of their members."""
    if one is other:
        return True
    try:
        return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) == orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
    except orjson.JSONEncodeError:
        return deep.equal(one, other)
