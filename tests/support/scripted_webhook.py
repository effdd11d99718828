"""A scripted webhook: HTTPS on loopback, with its own authority, in threads of the test's process."""

import base64
import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Generic, Self, TypeVar

from hack.lib.servers.certificates import LOOPBACK, Authority, KeyPair

Json = dict[str, Any]
_ABORT_GRACE: Final = 60.0
"""Seconds after which a connection held open by `HANG` ends at the latest."""


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """One request to the webhook."""

    path: str
    """With its query."""
    headers: Mapping[str, str]
    """Names are in lower case."""
    body: bytes

    @property
    def review(self) -> Json:
        """Return the review."""
        found: Json = json.loads(self.body)
        return found


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    body: bytes = b""
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


HANG: Final = Reply(code=0)
"""Send no answer. The connection stays open until the webhook ends or `release` is called."""
BREAK: Final = Reply(code=-1)
"""Close the connection without an answer."""

CallT = TypeVar("CallT", bound=WebhookCall)


class ScriptedWebhook(Generic[CallT]):
    """A running webhook. `calls` grows with each request; a test may replace `answer` at any time. It ends with its block."""

    def __init__(
        self,
        folder: Path,
        call: Callable[[str, Mapping[str, str], bytes], CallT],
        answer: Callable[[CallT], Reply | Json],
        *,
        name: str,
        hosts: Sequence[str] = LOOPBACK,
        port: int = 0,
    ) -> None:
        """Start the webhook with a new authority and a certificate for some hosts. Port 0 means a free one.

        `call` makes the calls, `answer` the answers: a document is sent as JSON. `name` is a folder for the authority.
        """
        self.answer = answer
        self.calls: list[CallT] = []
        self.accepted = 0
        """The connections so far."""
        self.authority = Authority(folder / name)
        self.certificate = self.authority.issue("webhook", hosts=hosts)
        self.clients: Authority | None = None
        """The authority of client certificates, if connections need one."""
        self._call = call
        self._released = threading.Event()
        self._open: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def port(self) -> int:
        """Return the port on 127.0.0.1."""
        port: int = self._server.server_address[1]
        return port

    @property
    def ca_bundle(self) -> str:
        """Return the authority as a clientConfig's caBundle."""
        return base64.b64encode(self.authority.cert.read_bytes()).decode()

    def use_certificate(self, authority: Authority, *hosts: str) -> None:
        """Use a certificate of another authority, or for other hosts, for new connections."""
        self.present(authority.issue("other", hosts=hosts or LOOPBACK))

    def present(self, certificate: KeyPair) -> None:
        """Use a certificate for new connections."""
        self.certificate = certificate
        self._server.load(self)

    def demand_certificates(self, authority: Authority) -> None:
        """Refuse new connections without a client certificate of an authority."""
        self.clients = authority
        self._server.load(self)

    def release(self) -> None:
        """Close the connections held open by HANG, and later ones at once."""
        self._released.set()

    def wait(self) -> None:
        """Return once the webhook is released."""
        self._released.wait(_ABORT_GRACE)

    def close_connections(self) -> None:
        """Break all open connections."""
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    @property
    def connections(self) -> int:
        """Return the number of open connections."""
        return len(self._open)

    def answered(self, path: str, headers: Mapping[str, str], body: bytes) -> Reply:
        """Note a call and return its answer."""
        call = self._call(path, headers, body)
        self.calls.append(call)
        found = self.answer(call)
        return found if isinstance(found, Reply) else Reply(json.dumps(found, separators=(",", ":")).encode())

    def opened(self, connection: socket.socket) -> None:
        """Note an open connection."""
        self.accepted += 1
        self._open.add(connection)

    def closed(self, connection: socket.socket) -> None:
        """Forget a connection."""
        self._open.discard(connection)

    def close(self) -> None:
        """Stop: connections end, and new ones are refused."""
        self.release()
        self._server.shutdown()
        self._server.server_close()
        self.close_connections()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], webhook: ScriptedWebhook[Any]) -> None:
        self.webhook = webhook
        self.load(webhook)
        super().__init__(address, _Handler)

    def load(self, webhook: ScriptedWebhook[Any]) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(webhook.certificate.cert, webhook.certificate.key)
        if webhook.clients is not None:
            self._context.load_verify_locations(webhook.clients.cert)
            self._context.verify_mode = ssl.CERT_REQUIRED

    def finish_request(self, request: Any, client_address: Any) -> None:
        # in the connection's thread: a client without a handshake must not block the others
        try:
            request.settimeout(_ABORT_GRACE)
            connection = self._context.wrap_socket(request, server_side=True)
        except OSError:
            return
        self.webhook.opened(connection)
        try:
            super().finish_request(connection, client_address)
        except OSError:
            pass
        finally:
            self.webhook.closed(connection)
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # one write for head and body: otherwise the body waits for the acknowledgement of the head
    wbufsize = -1
    server: _Server

    def _answer(self) -> None:
        webhook = self.server.webhook
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size)
        if len(body) < size:
            self.close_connection = True  # the client went away while it sent the call
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = webhook.answered(self.path, headers, body)
        if reply.code <= 0:
            if reply is HANG:
                webhook.wait()
            self.close_connection = True
            return
        self.send_response(reply.code)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        if not any(name.lower() in {"content-length", "transfer-encoding"} for name in reply.headers):
            self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    do_POST = do_GET = do_PUT = _answer  # noqa: N815 -- the library's names

    def log_message(self, format: str, *args: Any) -> None:
        """Write no log."""
