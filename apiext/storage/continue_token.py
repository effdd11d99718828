"""Continue tokens: start key and revision of the next page of a list (apiserver pkg/storage/continue.go)."""

from __future__ import annotations

import base64
import json
import string
from typing import Any, Final, NamedTuple

import orjson

from apiext.meta import errors, go_format

_VERSION: Final = "meta.k8s.io/v1"
_ALPHABET: Final = frozenset(string.ascii_letters + string.digits + "-_")
_INVALID: Final = "continue key is not valid"
_INCONSISTENT: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_MAX_INT64: Final = 2**63 - 1


class Continue(NamedTuple):
    """A decoded token."""

    start: str
    """The first key of the page, relative to the prefix of the list."""
    revision: int
    """The revision of the list; -1 to continue at the latest revision, inconsistently."""


def encode(start: str, revision: int) -> str:
    """Return the token for a page that begins at a key, relative to the prefix of the list."""
    # the reference's watch cache writes a leading slash; both readers accept either form
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
    text = token.replace("\r", "").replace("\n", "")
    for position, char in enumerate(text):
        if char not in _ALPHABET:
            offset = len(text[:position].encode(errors="surrogatepass"))
            raise ValueError(f"{_INVALID}: illegal base64 data at input byte {offset}")
    if len(text) % 4 == 1:
        raise ValueError(f"{_INVALID}: illegal base64 data at input byte {len(text) - 1}")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _document(data: bytes) -> dict[str, object]:
    try:
        # json, like Go's parser, keeps large numbers exact and accepts invalid UTF-8
        document = json.loads(data.decode(errors="replace"))
    except ValueError as error:
        # Go's parser quotes the first byte as a character
        text = data.strip(b" \t\r\n").decode("latin-1")
        begins = bool(text) and (text[0] in '{["-' or text[0].isdigit())
        why = "unexpected end of JSON input"
        if text and not begins:
            why = f"invalid character {_quoted(text[0])} looking for beginning of value"
        raise ValueError(f"{_INVALID}: {why}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        name = "array" if isinstance(document, list) else _json_type(document)
        raise ValueError(  # noqa: TRY004 - the token is malformed, whatever it holds
            f"{_INVALID}: json: cannot unmarshal {name} into Go value of type storage.continueToken"
        )
    return document


def _text(document: dict[str, object], name: str) -> str:
    value = document.get(name)
    if isinstance(value, str) or value is None:
        return value or ""
    raise ValueError(_mistyped(name, _json_type(value), "string"))


def _number(document: dict[str, object], name: str) -> int:
    value = document.get(name)
    if value is None:
        return 0
    # bool is a subclass of int
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(_mistyped(name, _json_type(value), "int64"))  # noqa: TRY004 - see _document
    if abs(value) > _MAX_INT64:
        raise ValueError(_mistyped(name, f"number {value}", "int64"))
    return value


def _mistyped(name: str, found: str, go_type: str) -> str:
    return f"{_INVALID}: json: cannot unmarshal {found} into Go struct field continueToken.{name} of type {go_type}"


def _json_type(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, float):
        return f"number {value}"
    return {int: "number", list: "array", dict: "object"}.get(type(value), "null")


def _quoted(char: str) -> str:
    if char == "'":
        return r"'\''"
    return "'\"'" if char == '"' else f"'{go_format.quote(char)[1:-1]}'"


class ExpiredContinueError(errors.StatusError):
    """410 Expired for a page at a compacted revision, with a token to continue inconsistently."""

    def __init__(self, start: str) -> None:
        super().__init__(410, "Expired", _INCONSISTENT)
        self.token = encode(start, -1)

    def status(self) -> dict[str, Any]:
        """Return the Status object with `metadata.continue`."""
        return super().status() | {"metadata": {"continue": self.token}}
