"""Formats of identifiers: UUIDs, BSON object ids, Kubernetes names."""

from __future__ import annotations

import re

_HEX = "[0-9a-fA-F]"


def _uuid(version: str, variant: str) -> re.Pattern[str]:
    return re.compile(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{version}-?{variant}-?{_HEX}{{12}}")


_ANY = f"{_HEX}{{4}}"
_RFC_VARIANT = f"[89abAB]{_HEX}{{3}}"
_UUID = _uuid(_ANY, _ANY)
_UUID3 = _uuid(f"3{_HEX}{{3}}", _ANY)
_UUID4 = _uuid(f"4{_HEX}{{3}}", _RFC_VARIANT)
_UUID5 = _uuid(f"5{_HEX}{{3}}", _RFC_VARIANT)
_BSON = re.compile(f"{_HEX}{{24}}")
_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SHORT_NAME = re.compile(_LABEL)
_LONG_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_SHORT_NAME_LIMIT = 63
"""Characters."""
_LONG_NAME_LIMIT = 253
"""Characters."""


def is_uuid(text: str) -> bool:
    """Return whether a text is a UUID of any version, with or without dashes."""
    return _UUID.fullmatch(text) is not None


def is_uuid3(text: str) -> bool:
    """Return whether a text is a UUID of version 3."""
    return _UUID3.fullmatch(text) is not None


def is_uuid4(text: str) -> bool:
    """Return whether a text is a UUID of version 4."""
    return _UUID4.fullmatch(text) is not None


def is_uuid5(text: str) -> bool:
    """Return whether a text is a UUID of version 5."""
    return _UUID5.fullmatch(text) is not None


def is_bson_object_id(text: str) -> bool:
    """Return whether a text is twelve bytes in hex."""
    return _BSON.fullmatch(text) is not None


def is_short_name(text: str) -> bool:
    """Return whether a text is a DNS label in lower case."""
    return len(text) <= _SHORT_NAME_LIMIT and _SHORT_NAME.fullmatch(text) is not None


def is_long_name(text: str) -> bool:
    """Return whether a text is a DNS subdomain in lower case."""
    return len(text) <= _LONG_NAME_LIMIT and _LONG_NAME.fullmatch(text) is not None
