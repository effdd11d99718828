"""resourceVersion as clients write it (apiserver pkg/storage/api_object_versioner.go)."""

from __future__ import annotations

from typing import Final

from apiext.meta import errors, field, goformat

_MAX_UINT64: Final = 2**64 - 1
_PREFIX: Final = "invalid resource version: "


def parse(text: str) -> int:
    """The revision that a resourceVersion names, 0 for "" and "0"; raises StatusError 400 for anything but a number."""
    if text in ("", "0"):
        return 0
    if not (text.isascii() and text.isdigit()):
        raise _invalid(text, "invalid syntax")
    revision = int(text) if len(text.lstrip("0")) <= len(str(_MAX_UINT64)) else _MAX_UINT64 + 1
    if revision > _MAX_UINT64:
        raise _invalid(text, "value out of range")
    return revision


def parse_for_watch(text: str) -> int:
    """Like `parse`, with the answer that a watch gets for anything but a number: 500 without a reason."""
    try:
        return parse(text)
    except errors.StatusError as error:
        raise errors.unknown(error.message.removeprefix(_PREFIX)) from error


def _invalid(text: str, why: str) -> errors.StatusError:
    detail = f"strconv.ParseUint: parsing {goformat.quote(text)}: {why}"
    return errors.bad_request(f"{_PREFIX}{field.invalid(field.Path('resourceVersion'), text, detail)}")


def require(minimum: int, actual: int) -> None:
    """Raise StatusError 504 when what was read is older than the client asked for."""
    if minimum > actual:
        raise errors.too_large_resource_version(minimum, actual, 0)
