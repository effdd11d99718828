"""How the texts and numbers of a JSON document are spelled, where the reference compares them as they were sent.

Mirrors what its JSON patch library does with values that are no objects and no lists, and Go's encoding/json.
"""

from __future__ import annotations

import re
from typing import Any, Final

from apiext.meta import json_codec

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"(?=\s*:)|("(?:[^"\\]|\\.)*+"|-?[0-9][0-9.eE+-]*|true|false|null)', re.DOTALL)
"""A key, or (as its group) a value that is no object and no list."""
_ODD: Final = re.compile(rb"[\\<>&\x80-\xff]|[0-9][.eE]|-0")
"""What any text or number has somewhere that can be spelled in more than one way."""


def may_be_odd(data: bytes) -> bool:
    """Whether something in a JSON document may not be spelled as Go writes it."""
    return _ODD.search(data) is not None


def spelled(data: bytes) -> Any:
    """A JSON document with each text, number, boolean and null replaced by the characters that it consists of. Raises ValueError."""
    return json_codec.loads(_TOKEN.sub(_quoted, data))


def _quoted(match: re.Match[bytes]) -> bytes:
    literal: bytes | None = match[1]
    if literal is None:
        return match[0]
    return b'"%b"' % literal.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def is_spelled(value: Any, literals: Any) -> bool:
    """Whether Go writes a value just as `literals` (made by `spelled`) has it; the order of members does not matter."""
    pending = [(value, literals)]
    while pending:
        one, other = pending.pop()
        if type(one) is dict:
            if type(other) is not dict or one.keys() != other.keys():
                return False
            pending += [(member, other[key]) for key, member in one.items()]
        elif type(one) is list:
            if type(other) is not list or len(one) != len(other):
                return False
            pending += zip(one, other, strict=True)
        elif type(other) is not str or json_codec.dumps(one).decode() != other:
            return False
    return True
