"""Requests as bytes, and responses as they come, for what an HTTP client does not send."""

import http.client
import re
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Side, _parse
from hack.lib.servers import tls_connection

_HEADERS: Final = (
    *("Content-Type", "Content-Encoding", "Vary", "Retry-After", "X-Content-Type-Options", "Connection", "Cache-Control", "Warning"),
    *("WWW-Authenticate", "Strict-Transport-Security", "Access-Control-Allow-Origin", "Access-Control-Allow-Methods"),
    *("Access-Control-Allow-Headers", "Access-Control-Expose-Headers", "Access-Control-Allow-Credentials"),
)
_MADE: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIMEOUT: Final = 30.0
Headers = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes to send; `method` determines how the response is read."""

    label: str
    data: bytes
    method: str = "GET"
    compares_body: bool = True


def request(method: str, path: str, headers: Headers = (), body: bytes = b"", *, label: str = "", body_counts: bool = True) -> Raw:
    """Return a request after which the connection is closed."""
    length = [("Content-Length", str(len(body)))] if body else []
    lines = [f"{method} {path} HTTP/1.1", "Host: h", "Connection: close", *(f"{name}: {text}" for name, text in [*headers, *length])]
    data = "\r\n".join([*lines, "\r\n"]).encode("latin-1") + body
    return Raw(label or f"{method} {path[:150]} {list(headers)}", data, method, body_counts)


def head(*lines: str, ending: str = "\r\n") -> Raw:
    """Return a request with arbitrary header lines."""
    return Raw(repr(lines)[:150], ending.join([*lines, "", ""]).encode("latin-1"))


def send(side: Side, data: bytes, context: ssl.SSLContext | None = None) -> ssl.SSLSocket:
    """Open a connection and send the bytes."""
    address = urlsplit(side.url)
    assert address.port
    connection = tls_connection.connect(context or side.context, address.port, timeout=_TIMEOUT)
    connection.sendall(data)
    return connection


def read(connection: ssl.SSLSocket, raw: Raw) -> tuple[object, ...]:
    """Return the compared parts of a response."""
    response = http.client.HTTPResponse(connection, method=raw.method)
    response.begin()
    headers = {name: ", ".join(found) for name in _HEADERS if (found := response.headers.get_all(name))}
    audit_id = _MADE.sub("<made>", response.headers.get("Audit-Id", ""))
    body = response.read() if raw.compares_body else b""
    media = response.headers.get("Content-Type", "")
    return response.version, response.status, response.reason, headers, audit_id, masked(_parse(body, media))


def ask(side: Side, raw: Raw, context: ssl.SSLContext | None = None) -> tuple[object, ...]:
    """Send one request on its own connection and return the response."""
    with send(side, raw.data, context) as connection:
        return read(connection, raw)


def differing(pair: Pair, raws: Iterable[Raw], contexts: tuple[ssl.SSLContext, ssl.SSLContext] | None = None) -> list[str]:
    """Return the requests to which apiext responds differently from the reference."""
    found = []
    for raw in raws:
        theirs = ask(pair.reference, raw, contexts[0] if contexts else None)
        ours = ask(pair.ours, raw, contexts[1] if contexts else None)
        pair.compared += 1
        if theirs != ours:
            found.append(f"{raw.label}\n    reference: {theirs}\n    apiext:    {ours}")
    return found
