"""Continue tokens: start key and revision of the next page of a list (apiserver pkg/storage/continue.go)."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import orjson

from apiext.base.meta import errors
from apiext.base.meta.golang import base64_url

_VERSION: Final = "meta.k8s.io/v1"
_INVALID: Final = "continue key is not valid"
_INCONSISTENT: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_BEYOND_INT64: Final = 2**63


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
    return base64_url.encode(document)


def decode(token: str) -> Continue:
    """Parse a client's token.

    Raises:
        StatusError: 400 if it is none.
    """
    try:
        return _decode(token)
    except ValueError as error:
        raise errors.bad_request(f"invalid continue token: {error}") from error


def _decode(token: str) -> Continue:
    try:
        document = orjson.loads(base64_url.decode(token))
    except ValueError:
        raise ValueError(f"{_INVALID}: it is not the token of a list") from None
    members = document if isinstance(document, dict) else {}
    version, revision, start = members.get("v"), members.get("rv"), members.get("start")
    if version != _VERSION:
        raise ValueError(f"{_INVALID}: server does not recognize this encoded version {version}")
    if type(revision) is not int or not revision or not -_BEYOND_INT64 <= revision < _BEYOND_INT64:
        raise ValueError(f"{_INVALID}: incorrect encoded start resourceVersion (version {_VERSION})")
    if not start or not isinstance(start, str):
        raise ValueError(f"{_INVALID}: encoded start key empty (version {_VERSION})")
    relative = start.removeprefix("/")
    # reject keys that leave the prefix of the list
    if relative and any(part in ("", ".", "..") for part in relative.split("/")):
        raise ValueError(f"{_INVALID}: {start}")
    return Continue(relative, revision)


class ExpiredContinueError(errors.StatusError):
    """410 Expired for a page at a compacted revision, with a token to continue without consistency."""

    def __init__(self, start: str) -> None:
        super().__init__(410, "Expired", _INCONSISTENT)
        self.token = encode(start, -1)

    def status(self) -> dict[str, Any]:
        """Return the Status object with `metadata.continue`."""
        return super().status() | {"metadata": {"continue": self.token}}
