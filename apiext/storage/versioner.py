"""resourceVersion in clients' form (apiserver pkg/storage/api_object_versioner.go)."""

from __future__ import annotations

from typing import Final

from apiext.base.meta import errors, field
from apiext.base.meta.golang import formatting

_MAX_UINT64: Final = 2**64 - 1
_PREFIX: Final = "invalid resource version: "


def parse_uint(text: str) -> int:
    """Parse an unsigned 64-bit number.

    Raises:
        ValueError: with the message of strconv.ParseUint.
    """
    why = "" if text.isascii() and text.isdigit() else "invalid syntax"
    digits = text.lstrip("0") or "0"
    number = int(digits) if not why and len(digits) <= len(str(_MAX_UINT64)) else _MAX_UINT64 + 1
    if number > _MAX_UINT64:
        raise ValueError(f"strconv.ParseUint: parsing {formatting.quote(text)}: {why or 'value out of range'}")
    return number


def parse(text: str) -> int:
    """Return the revision of a resourceVersion, 0 for "" and "0".

    Raises:
        StatusError: 400 for anything but a number.
    """
    if text in ("", "0"):
        return 0
    try:
        return parse_uint(text)
    except ValueError as error:
        problem = field.invalid(field.Path("resourceVersion"), text, str(error))
        raise errors.bad_request(f"{_PREFIX}{problem}") from error


def parse_for_watch(text: str) -> int:
    """Parse a resourceVersion as the reference does for watches and cached gets.

    Raises:
        StatusError: 500 without a reason, for anything but a number.
    """
    try:
        return parse(text)
    except errors.StatusError as error:
        raise errors.unknown(error.message.removeprefix(_PREFIX)) from error
