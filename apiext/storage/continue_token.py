"""Continue tokens: start key and revision of the next page of a list (apiserver pkg/storage/continue.go)."""

from __future__ import annotations

import base64
import json
import re
import string
from typing import Any, Final, NamedTuple

import orjson

from apiext.meta import errors
from apiext.meta.encoding.json_syntax import syntax_error

_VERSION: Final = "meta.k8s.io/v1"
_ALPHABET: Final = frozenset(string.ascii_letters + string.digits + "-_")
_INVALID: Final = "continue key is not valid"
_INCONSISTENT: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_BEYOND_INT64: Final = 2**63
_INTEGER: Final = re.compile("-?[0-9]{1,19}")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class Continue(NamedTuple):
    """Decoded token."""

    start: str
    """The first key of the page, relative to the prefix of the list."""
    revision: int
    """The revision of the list; -1 to continue at the latest revision, without consistency."""


def encode(start: str, revision: int) -> str:
    """Return the token for a page that begins at a key relative to the list's prefix."""
    # the reference's watch cache adds a leading slash; both readers accept both forms
    document = orjson.dumps({"v": _VERSION, "rv": revision, "start": f"/{start}"})
    return base64.urlsafe_b64encode(document).rstrip(b"=").decode()


def decode(token: str) -> Continue:
    """Parse a client's token.

    Raises:
        StatusError: 400 with the reference's message.
    """
    try:
        return _decode(token)
    except ValueError as error:
        raise errors.bad_request(f"invalid continue token: {error}") from error


def _decode(token: str) -> Continue:
    document = _document(_base64(token))
    version, revision, start = _text(document, "v"), _number(document, "rv"), _text(document, "start")
    if version != _VERSION:
        raise ValueError(f"{_INVALID}: server does not recognize this encoded version {version}")
    if not revision:
        raise ValueError(f"{_INVALID}: incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise ValueError(f"{_INVALID}: encoded start key empty (version {_VERSION})")
    relative = start.removeprefix("/")
    # reject keys that leave the prefix of the list
    if relative and any(part in ("", ".", "..") for part in relative.split("/")):
        raise ValueError(f"{_INVALID}: {start}")
    return Continue(relative, revision)


def _base64(token: str) -> bytes:
    # Line breaks are no data, but count in the offsets of errors.
    for position, char in enumerate(token):
        if char not in _ALPHABET and char not in "\r\n":
            offset = len(token[:position].encode(errors="surrogatepass"))
            raise ValueError(f"{_INVALID}: illegal base64 data at input byte {offset}")
    text = token.replace("\r", "").replace("\n", "")
    if len(text) % 4 == 1:
        raise ValueError(f"{_INVALID}: illegal base64 data at input byte {len(token) - 1}")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _document(data: bytes) -> dict[str, object]:
    problem = syntax_error(data)
    if problem:
        raise ValueError(f"{_INVALID}: {problem}")
    document = json.loads(data.decode(errors="replace"), parse_int=_Number, parse_float=_Number)
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ValueError(  # noqa: TRY004 - the token is malformed, whatever it holds
            f"{_INVALID}: json: cannot unmarshal {_json_type(document)} into Go value of type storage.continueToken"
        )
    # Go ignores case
    return {name.lower(): member for name, member in document.items()}


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _text(document: dict[str, object], name: str) -> str:
    value = document.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or isinstance(value, _Number):
        raise ValueError(_mistyped(name, _json_type(value), "string"))  # noqa: TRY004 - see _document
    return _LONE_SURROGATE.sub("\ufffd", value)


def _number(document: dict[str, object], name: str) -> int:
    value = document.get(name)
    if value is None:
        return 0
    if not isinstance(value, _Number):
        raise ValueError(_mistyped(name, _json_type(value), "int64"))  # noqa: TRY004 - see _document
    number = int(value) if _INTEGER.fullmatch(value) else _BEYOND_INT64
    if not -_BEYOND_INT64 <= number < _BEYOND_INT64:
        raise ValueError(_mistyped(name, f"number {value}", "int64"))
    return number


def _mistyped(name: str, found: str, go_type: str) -> str:
    return f"{_INVALID}: json: cannot unmarshal {found} into Go struct field continueToken.{name} of type {go_type}"


def _json_type(value: object) -> str:
    return {_Number: "number", str: "string", bool: "bool", list: "array", dict: "object"}[type(value)]


class ExpiredContinueError(errors.StatusError):
    """410 Expired for a page at a compacted revision, with a token to continue without consistency."""

    def __init__(self, start: str) -> None:
        super().__init__(410, "Expired", _INCONSISTENT)
        self.token = encode(start, -1)

    def status(self) -> dict[str, Any]:
        """Return the Status object with `metadata.continue`."""
        return super().status() | {"metadata": {"continue": self.token}}
