"""A scripted conversion webhook: HTTPS on loopback, with its own authority, in threads of the test's process."""

import base64
import copy
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from hack.lib.servers.certificates import LOOPBACK, Authority, KeyPair

Json = dict[str, Any]
_ABORT_GRACE: Final = 60.0
"""Seconds after which a connection held open by `HANG` ends at the latest."""


@dataclass(frozen=True, slots=True)
class Call:
    """One request to the webhook."""

    path: str
    """With its query."""
    headers: Mapping[str, str]
    """Names are in lower case."""
    body: bytes

    @property
    def review(self) -> Json:
        """Return the ConversionReview."""
        found: Json = json.loads(self.body)
        return found

    @property
    def objects(self) -> list[Json]:
        """Return the objects to convert."""
        found: list[Json] = self.review["request"]["objects"]
        return found

    @property
    def names(self) -> list[str]:
        """Return the names of the objects to convert."""
        return [obj["metadata"].get("name", "") for obj in self.objects]


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

Answer = Callable[[Call], Reply | Json]
"""Makes the answer to a call. A document is sent as JSON."""
Change = Callable[[Json, str], None]
"""Changes an object in place. The object already has the given apiVersion."""


def reviewed(call: Call, objects: Sequence[Any], *, result: Json | None = None, **more: Any) -> Json:
    """Return a review with objects as the answer to a call. `more` replaces members of its response."""
    response = {"uid": call.review["request"]["uid"], "result": result or {"status": "Success"}, "convertedObjects": list(objects)}
    return {"apiVersion": call.review["apiVersion"], "kind": "ConversionReview", "response": response | more}


def converting(change: Change = lambda _obj, _version: None) -> Answer:
    """Return an answer with the objects in the desired version, each changed by `change`."""

    def answer(call: Call) -> Json:
        version = call.review["request"]["desiredAPIVersion"]
        objects = copy.deepcopy(call.objects)
        for obj in objects:
            obj["apiVersion"] = version
            change(obj, version)
        return reviewed(call, objects)

    return answer


def failing(message: str = "", status: str = "Failure") -> Answer:
    """Return an answer that fails the conversion."""
    return lambda call: reviewed(call, [], result={"status": status} | ({"message": message} if message else {}))


class ConversionWebhook:
    """A running webhook. A test may replace `answer` at any time. `calls` grows with each request."""

    def __init__(self, folder: Path, *, answer: Answer | None = None, hosts: Sequence[str] = LOOPBACK, port: int = 0) -> None:
        """Start the webhook with a new authority and a certificate for some hosts. Port 0 means a free one."""
        self.answer = answer or converting()
        self.calls: list[Call] = []
        self.authority = Authority(folder / "conversion-webhook")
        self.certificate = self.authority.issue("webhook", hosts=hosts)
        self._released = threading.Event()
        self._open: set[socket.socket] = set()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Return the port on 127.0.0.1."""
        port: int = self._server.server_address[1]
        return port

    @property
    def url(self) -> str:
        """Return the URL of the conversion."""
        return f"https://127.0.0.1:{self.port}/convert"

    @property
    def ca_bundle(self) -> str:
        """Return the authority as a clientConfig's caBundle."""
        return base64.b64encode(self.authority.cert.read_bytes()).decode()

    def client_config(self) -> Json:
        """Return a clientConfig with the webhook's URL."""
        return {"url": self.url, "caBundle": self.ca_bundle}

    def conversion(self, *review_versions: str, **client_config: Any) -> Json:
        """Return a spec.conversion for this webhook; by default with v1 reviews and its URL."""
        client = client_config or self.client_config()
        return {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": list(review_versions) or ["v1"]},
        }

    def service(self, name: str = "webhook", namespace: str = "default", **more: Any) -> Json:
        """Return a clientConfig with the webhook as a Service. Its address is `port` on 127.0.0.1."""
        return {"service": {"name": name, "namespace": namespace, "path": "/convert"} | more, "caBundle": self.ca_bundle}

    def use_certificate(self, authority: Authority, *hosts: str) -> None:
        """Use a certificate of another authority, or for other hosts, for new connections."""
        self.present(authority.issue("other", hosts=hosts or LOOPBACK))

    def present(self, certificate: KeyPair) -> None:
        """Use a certificate for new connections."""
        self.certificate = certificate
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

    def opened(self, connection: socket.socket) -> None:
        """Note an open connection."""
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


@contextmanager
def conversion_webhook(folder: Path, **options: Any) -> Iterator[ConversionWebhook]:
    """Run a webhook for the block."""
    webhook = ConversionWebhook(folder, **options)
    try:
        yield webhook
    finally:
        webhook.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], webhook: ConversionWebhook) -> None:
        self.webhook = webhook
        self.load(webhook)
        super().__init__(address, _Handler)

    def load(self, webhook: ConversionWebhook) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(webhook.certificate.cert, webhook.certificate.key)

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
    server: _Server

    def _answer(self) -> None:
        webhook = self.server.webhook
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        call = Call(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
        webhook.calls.append(call)
        found = webhook.answer(call)
        reply = found if isinstance(found, Reply) else Reply(json.dumps(found, separators=(",", ":")).encode())
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
