"""resourceVersion as clients write it (apiserver pkg/storage/api_object_versioner.go)."""

from __future__ import annotations

from typing import Final

from apiext.meta import errors, field, go_format

_MAX_UINT64: Final = 2**64 - 1
_PREFIX: Final = "invalid resource version: "


def parse_uint(text: str) -> int:
    """A number of 64 bits without a sign; raises ValueError in the words of strconv.ParseUint."""
    why = "" if text.isascii() and text.isdigit() else "invalid syntax"
    digits = text.lstrip("0") or "0"
    number = int(digits) if not why and len(digits) <= len(str(_MAX_UINT64)) else _MAX_UINT64 + 1
    if number > _MAX_UINT64:
        raise ValueError(f"strconv.ParseUint: parsing {go_format.quote(text)}: {why or 'value out of range'}")
    return number


def parse(text: str) -> int:
    """The revision that a resourceVersion names, 0 for "" and "0"; raises StatusError 400 for anything but a number."""
    if text in ("", "0"):
        return 0
    try:
        return parse_uint(text)
    except ValueError as error:
        problem = field.invalid(field.Path("resourceVersion"), text, str(error))
        raise errors.bad_request(f"{_PREFIX}{problem}") from error


def parse_plainly(text: str) -> int:
    """Like `parse`, with the answer that a watch, and a read of one object from the cache, gets for anything but a number.

    It is 500 without a reason.
    """
    try:
        return parse(text)
    except errors.StatusError as error:
        raise errors.unknown(error.message.removeprefix(_PREFIX)) from error


def require(minimum: int, actual: int) -> None:
    """Raise StatusError 504 when what was read is older than the client asked for."""
    if minimum > actual:
        raise errors.too_large_resource_version(minimum, actual, 0)
