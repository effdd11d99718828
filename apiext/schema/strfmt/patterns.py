"""Formats with one regular expression: UUIDs, BSON object ids, insurance numbers, colours, base64."""

from __future__ import annotations

import re
from collections.abc import Callable

_HEX = "[0-9a-fA-F]"
_GROUP = f"{_HEX}{{4}}"
_RFC_VARIANT = f"[89abAB]{_HEX}{{3}}"
_CHANNEL = "(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"
_GAP = r"[\t\n\f\r ]*"


def _matcher(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


def _uuid(version: str, variant: str) -> Callable[[str], bool]:
    return _matcher(f"{_HEX}{{8}}-?{_GROUP}-?{version}-?{variant}-?{_HEX}{{12}}")


is_uuid = _uuid(_GROUP, _GROUP)
"""Any version, with or without dashes like the others."""
is_uuid3 = _uuid(f"3{_HEX}{{3}}", _GROUP)
is_uuid4 = _uuid(f"4{_HEX}{{3}}", _RFC_VARIANT)
is_uuid5 = _uuid(f"5{_HEX}{{3}}", _RFC_VARIANT)
is_bson_object_id = _matcher(f"{_HEX}{{24}}")
is_ssn = _matcher("[0-9]{3}[- ][0-9]{2}[- ][0-9]{4}")
"""U.S. social security number with both separators."""
is_hex_color = _matcher(f"#?(?:{_HEX}{{3}}|{_HEX}{{6}})")
is_rgb_color = _matcher(rf"rgb\({_GAP}{_CHANNEL}{_GAP},{_GAP}{_CHANNEL}{_GAP},{_GAP}{_CHANNEL}{_GAP}\)")
is_base64 = _matcher("(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
"""Non-empty, padded, standard alphabet."""
