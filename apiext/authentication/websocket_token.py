"""Bearer tokens of browsers, which can send no headers with a WebSocket: a token is one of the protocols that they ask for.

Mirrors apiserver pkg/authentication/request/websocket.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIX: Final = "base64url.bearer.authorization.k8s.io."
_ENCODED: Final = re.compile(r"[A-Za-z0-9_-]*")


class ProtocolError(Exception):
    """The token cannot be told; the message says why."""


def bearer_of(headers: Iterable[str]) -> tuple[str, str]:
    """The token, empty where there is none, and the protocols that remain, of all Sec-WebSocket-Protocol headers.

    Raises:
        ProtocolError: there are several tokens, one that cannot be read, or nothing but a token.
    """
    token, seen, rest = "", False, []
    for protocol in (part.strip() for header in headers for part in header.split(",")):
        if not protocol.startswith(_PREFIX):
            rest.append(protocol)
            continue
        if seen:
            raise ProtocolError("multiple base64.bearer.authorization tokens specified")
        seen, token = True, _decoded(protocol.removeprefix(_PREFIX))
    if token and not rest:
        raise ProtocolError("missing additional subprotocol")
    return token, ",".join(rest)


def _decoded(encoded: str) -> str:
    if not _ENCODED.fullmatch(encoded) or len(encoded) % 4 == 1:
        raise ProtocolError("invalid base64.bearer.authorization token encoding")
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except UnicodeDecodeError as error:
        raise ProtocolError("invalid base64.bearer.authorization token") from error
