"""Parses a ConversionReview object by object, so that a large one does not hold the event loop: an answer of a webhook, or a request."""

from __future__ import annotations

import json
import re
import secrets
from typing import Any, Final

from apiext.base.meta.encoding import json_codec
from apiext.base.meta.limits import MAX_INLINE_RENDERING_BYTES
from apiext.base.scheduling.inline_work import current_work
from apiext.base.scheduling.time_slice import Pace

_MIN_BYTES: Final = 32 * 1024
"""Bytes from which a review is divided; parsing fewer takes less than a millisecond."""
ANSWER: Final = ("response", "convertedObjects")
REQUEST: Final = ("request", "objects")
"""The member of a review with the array that is divided."""
_BEGINS: Final = {array: re.compile(rb'"%b"\s*:\s*\[\s*' % array[1].encode()) for array in (ANSWER, REQUEST)}
_MEMBER: Final = rb'"(?:apiVersion|kind)"\s*:\s*"[^"\\]*"'
_HEAD: Final = re.compile(rb"\{\s*%b\s*,\s*%b" % (_MEMBER, _MEMBER))
"""The start of an object as most webhooks write it."""
_MARK: Final = secrets.token_hex(16)
"""Stands for the objects while the rest is parsed. Random: no text of a review contains it."""
_DECODER: Final = json.JSONDecoder()


async def parse(data: bytes, array: tuple[str, str] = ANSWER) -> Any:
    """Return the value in a review, as json_codec.loads.

    Raises:
        ValueError: the review is not JSON.
    """
    document = await _parse_parts(data, array) if len(data) >= _MIN_BYTES else None
    return _loads(data) if document is None else document


def _loads(data: bytes) -> Any:
    """Return the value in a review or a part of one. Raises ValueError."""
    _check_size(len(data))
    return json_codec.loads(data)


def _check_size(size: int) -> None:
    """Let a worker process parse a part of this size if it takes too long for the event loop."""
    current_work().check_size(size, MAX_INLINE_RENDERING_BYTES)


async def _parse_parts(data: bytes, array: tuple[str, str]) -> Any:
    """Return the value of a review whose objects all start alike; None for another form.

    Each part between two such starts is a JSON value, and so an element of the array.
    """
    begin = _BEGINS[array].search(data)
    head = _HEAD.match(data, begin.end()) if begin is not None else None
    if begin is None or head is None:
        return None
    pace, objects, start, place = Pace(), [], begin.end(), begin.end()
    try:
        while (place := data.find(head[0], place + 1)) >= 0:
            text = data[start:place].rstrip()
            if text.endswith(b","):
                objects.append(_loads(text[:-1]))
                start = place
            if pace.due:
                await pace.pause()
        if not objects:
            return None
        _check_size(len(data) - start)
        last = data[start:].decode()
        end = _DECODER.raw_decode(last)[1]
        objects.append(_loads(last[:end].encode()))
        document = json_codec.loads(b'%b"%b"%b' % (data[: begin.end()], _MARK.encode(), last[end:].encode()))
        if document[array[0]][array[1]] != [_MARK]:
            return None
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
    document[array[0]][array[1]] = objects
    return document
