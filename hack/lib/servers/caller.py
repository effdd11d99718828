"""A client of a server that opens a connection for each request."""

import http.client
import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.tls_connection import client_context

Answer = tuple[int, Any]
"""Status code and body: parsed if it is JSON, else text."""
Headers = Iterable[tuple[str, str]]
REFUSED: Final = (401, "Unauthorized")


class Caller:
    """A client with a certificate, a token or no credentials. `patience` are the seconds to wait for an answer."""

    def __init__(self, url: str, ca: Path, pair: KeyPair | None = None, *, token: str = "", patience: float = 20.0) -> None:
        self._netloc = urlsplit(url).netloc
        self._context = client_context(ca, pair.cert, pair.key) if pair else client_context(ca)
        self._token = token
        self._patience = patience

    def ask(self, method: str, path: str, body: Any = None, headers: Headers = ()) -> Answer:
        """Send a request and return the response; the body is sent as JSON unless a header names another type."""
        with closing(self.connect()) as connection:
            response = self.send(connection, method, path, body, headers)
            data = response.read()
        return response.status, json.loads(data) if response.headers.get_content_type() == "application/json" else data.decode()

    def must(self, method: str, path: str, body: Any = None, headers: Headers = ()) -> Any:
        """Send a request that must succeed and return the body of the response."""
        code, answer = self.ask(method, path, body, headers)
        assert code < 300, (method, path, answer)
        return answer

    def connect(self) -> http.client.HTTPSConnection:
        """Return a connection for several requests."""
        return http.client.HTTPSConnection(self._netloc, timeout=self._patience, context=self._context)

    def send(
        self, connection: http.client.HTTPSConnection, method: str, path: str, body: Any = None, headers: Headers = ()
    ) -> http.client.HTTPResponse:
        """Send a request over a connection and return the response, whose body is still unread."""
        given = dict(headers)
        connection.putrequest(method, path)
        data = b"" if body is None else json.dumps(body).encode()
        if body is not None:
            given.setdefault("Content-Type", "application/json")
        if self._token:
            given.setdefault("Authorization", f"Bearer {self._token}")
        for name, text in given.items():
            connection.putheader(name, text)
        connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        return connection.getresponse()
