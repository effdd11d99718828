"""A webhook in a process of its own: HTTPS with an authority of its own."""

import base64
import http.client
import ssl
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hack.lib.servers.certificates import Authority
from hack.lib.servers.process import Process, Service, environment, free_port
from hack.lib.servers.tls_connection import client_context


class WebhookServer(Service):
    """Runs a module that calls `serve`; its address and certificate survive a restart."""

    patience = 30.0

    def __init__(self, folder: Path, module: str) -> None:
        self.port = free_port()
        self._authority = Authority(folder / "webhook", "webhook-ca")
        pair = self._authority.issue("webhook")
        root = str(Path(__file__).parents[3])
        command = [sys.executable, "-m", module, str(self.port), str(pair.cert), str(pair.key)]
        self.process = Process(command, folder / "webhook.log", environment(PYTHONPATH=root))

    def client_config(self, path: str = "/") -> dict[str, Any]:
        """Return the clientConfig of the webhook at a path."""
        bundle = base64.b64encode(self._authority.cert.read_bytes()).decode()
        return {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": bundle}

    def ready(self) -> bool:
        """Report whether the port accepts TLS connections."""
        context = client_context(self._authority.cert)
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=2, context=context)
        try:
            connection.connect()
        finally:
            connection.close()
        return True


def serve(handler: type[BaseHTTPRequestHandler], port: str, cert: str, key: str) -> None:
    """Serve until the process ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()
