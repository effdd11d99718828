"""A client with one keep-alive connection, and watches that yield event after event."""

import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Protocol, Self
from urllib.parse import urlsplit

import orjson

from hack.lib.definitions import is_established

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE_PATCH: Final = {"Content-Type": "application/merge-patch+json"}

# Exceptions of a request whose connection breaks.
GONE: Final = (OSError, http.client.HTTPException)


class Server(Protocol):
    """A server's address, and the credentials of its administrator."""

    url: str

    def ssl_context(self) -> ssl.SSLContext:
        """Return a context that trusts the server and has the administrator's certificate."""
        ...


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        """Return the body parsed as JSON."""
        return json.loads(self.body)


class Client:
    """An administrator with one connection, reopened after a failure. Not thread-safe."""

    def __init__(self, server: Server, *, timeout: float = 30) -> None:
        self._netloc = urlsplit(server.url).netloc
        self._context = server.ssl_context()
        self._timeout = timeout
        self._connection = self._connect()

    def _connect(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(self._netloc, timeout=self._timeout, context=self._context)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. The next request opens another."""
        self._connection.close()

    def reconnect(self, seconds: float) -> None:
        """Use another connection, and wait so long for answers on it."""
        self.close()
        self._connection = self._connect()
        self._connection.timeout = seconds

    def wait_for(self, seconds: float) -> None:
        """Wait so long for further answers on the open connection."""
        self._connection.sock.settimeout(seconds)

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None, *, streams: bool = True) -> Reply:
        """Send a request and return the response. Send a body other than bytes as JSON.

        Without `streams`, do not read a response of unknown length, and close the connection.

        Raises:
            OSError, HTTPException: The connection broke (GONE). The server may have executed the request.
        """
        sent = dict(headers or {})
        data = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        try:
            self._connection.request(method, path, data, sent)
            response = self._connection.getresponse()
            if not streams and response.headers.get("Transfer-Encoding") == "chunked":
                response.close()
                self._connection.close()
                return Reply(response.status, response.headers, b"")
            return Reply(response.status, response.headers, response.read())
        except GONE:
            self._connection.close()
            raise

    def must(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Any:
        """Send a request and return its parsed response. Fail if it does not succeed."""
        reply = self.ask(method, path, body, headers)
        assert reply.status < 300, (method, path, reply.body[:2000])
        return reply.json

    def merge(self, path: str, patch: Any) -> Any:
        """Apply a merge patch and return the object."""
        return self.must("PATCH", path, patch, MERGE_PATCH)

    def define(self, crd: dict[str, Any]) -> Any:
        """Create a definition. Return it once it is established."""
        created = self.must("POST", CRDS, crd)
        self.until_established(crd["metadata"]["name"])
        return created

    def until_established(self, name: str) -> None:
        """Return once a definition is established."""
        self.until(CRDS, name, is_established)

    def until(self, collection: str, name: str, holds: Callable[[dict[str, Any]], bool], *, seconds: int = 60) -> dict[str, Any]:
        """Return the object once it exists and a condition holds for it."""
        return self.until_any(collection, f"metadata.name={name}", holds, seconds=seconds)

    def until_any(
        self, collection: str, field_selector: str, holds: Callable[[dict[str, Any]], bool] = bool, *, seconds: int = 60
    ) -> dict[str, Any]:
        """Return the first selected object for which a condition holds, once there is one."""
        last: Any = "there is none"
        with self.watch(collection, fieldSelector=field_selector, timeoutSeconds=seconds) as events:
            for event in events:
                last = event
                if event["type"] != "DELETED" and holds(event["object"]):
                    found: dict[str, Any] = event["object"]
                    return found
        raise AssertionError(f"{field_selector} of {collection} is not as expected after {seconds} s: {last}")

    def until_gone(self, collection: str, name: str, *, seconds: int = 60) -> None:
        """Return once an object is gone."""
        found = self.must("GET", f"{collection}?fieldSelector=metadata.name={name}")
        if not found["items"]:
            return
        start = found["metadata"]["resourceVersion"]
        with self.watch(collection, fieldSelector=f"metadata.name={name}", resourceVersion=start, timeoutSeconds=seconds) as events:
            if any(event["type"] == "DELETED" for event in events):
                return
        raise AssertionError(f"{name} of {collection} is still there after {seconds} s")

    def watch(self, path: str, **query: object) -> "Watch":
        """Open a watch on its own connection."""
        text = "&".join(f"{key}={value}" for key, value in {"watch": "true", **query}.items())
        return Watch(self._connect(), f"{path}?{text}")


class Watch:
    """The events of one watch. Another thread may call `close` to end the iteration."""

    def __init__(self, connection: http.client.HTTPSConnection, path: str) -> None:
        self._connection = connection
        try:
            connection.request("GET", path)
            self._socket: ssl.SSLSocket | socket.socket = connection.sock
            self._response = connection.getresponse()
        except GONE:
            connection.close()
            raise
        self.status = self._response.status

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()
        self._response.close()
        self._connection.close()

    def close(self) -> None:
        """End the watch."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield events until the server ends the watch.

        Raises:
            OSError, HTTPException: The connection broke.
        """
        while line := self._response.readline():
            event: dict[str, Any] = orjson.loads(line)
            yield event

    def take(self, count: int) -> list[dict[str, Any]]:
        """Return the next `count` events."""
        events = [event for _, event in zip(range(count), self, strict=False)]
        assert len(events) == count, f"the watch ended after {len(events)} of {count} events"
        return events
