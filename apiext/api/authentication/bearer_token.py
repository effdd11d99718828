"""Bearer tokens of requests, and the CSV file of static tokens with user name, uid and, optionally, groups.

Browsers cannot send an Authorization header with a WebSocket: they send the token in Sec-WebSocket-Protocol.
Mirrors apiserver pkg/authentication/request/bearertoken, pkg/authentication/request/websocket and pkg/authentication/token/tokenfile.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Final

from apiext.base.meta.golang import base64_url
from apiext.base.meta.request import UserInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_PREFIX: Final = "base64url.bearer.authorization.k8s.io."


class WebSocketTokenError(Exception):
    """The Sec-WebSocket-Protocol headers contain an invalid token. The message is the reason."""


def websocket_token(headers: Iterable[str]) -> tuple[str, str]:
    """Return the token in all Sec-WebSocket-Protocol headers (empty without one), and the other protocols, joined with commas.

    Raises:
        WebSocketTokenError: there are several tokens, one is not base64url or UTF-8, or there is no protocol besides the token.
    """
    token, seen, rest = "", False, []
    for protocol in (part.strip() for header in headers for part in header.split(",")):
        if not protocol.startswith(_PREFIX):
            rest.append(protocol)
            continue
        if seen:
            raise WebSocketTokenError("multiple base64.bearer.authorization tokens specified")
        seen, token = True, _decoded(protocol.removeprefix(_PREFIX))
    if token and not rest:
        raise WebSocketTokenError("missing additional subprotocol")
    return token, ",".join(rest)


def _decoded(encoded: str) -> str:
    try:
        data = base64_url.decode(encoded)
    except ValueError as error:
        raise WebSocketTokenError("invalid base64.bearer.authorization token encoding") from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise WebSocketTokenError("invalid base64.bearer.authorization token") from error


class TokenFileError(Exception):
    """A token file is invalid. The message is one line with the reason."""


def load_token_file(path: Path) -> Mapping[str, UserInfo]:
    """Return the users of a token file by token.

    Raises:
        TokenFileError: the file cannot be read, or a line has fewer than three columns or an empty token.
    """
    users: dict[str, UserInfo] = {}
    try:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.reader(file, skipinitialspace=True):
                if not row or row[0].startswith("#"):
                    continue
                token, user = _user(row)
                users[token] = user
    except OSError as error:
        raise TokenFileError(f"{path}: {error.strerror}") from error
    except (ValueError, csv.Error) as error:
        raise TokenFileError(f"{path}: {error}") from error
    return users


def _user(row: list[str]) -> tuple[str, UserInfo]:
    if len(row) < 3:
        raise ValueError(f"a line needs at least the columns token, user name and user uid, found {len(row)}")
    token, name, uid, *rest = row
    if not token:
        raise ValueError(f"the token of user {name!r} is empty")
    groups = tuple(group for group in rest[0].split(",") if group) if rest else ()
    return token, UserInfo(name=name, uid=uid, groups=groups)


def bearer_token(authorization: str) -> str:
    """Return the bearer token of an Authorization header, empty without one."""
    scheme, _, token = authorization.strip().partition(" ")
    return token.split(" ", 1)[0] if scheme.lower() == "bearer" else ""
