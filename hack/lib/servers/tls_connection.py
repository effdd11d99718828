"""TLS connections of clients whose server may end at any moment."""

import socket
import ssl
from pathlib import Path

from apiext.base.tls_trust import trusting_context


class _ClientSocket(ssl.SSLSocket):
    """Closes a connection that the server resets before the handshake: `wrap_socket` would leave it open."""

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        """Receive bytes; a connection without a handshake is closed by an error."""
        try:
            return super().recv(buflen, flags)
        except OSError:
            if self.version() is None:
                self.close()
            raise


def client_context(ca: Path, cert: Path | None = None, key: Path | None = None) -> ssl.SSLContext:
    """Return the context of a client that trusts an authority, with a certificate or without credentials."""
    context = trusting_context(cafile=ca)
    context.sslsocket_class = _ClientSocket
    if cert:
        context.load_cert_chain(cert, key)
    return context


def connect(context: ssl.SSLContext, port: int, *, server_hostname: str = "127.0.0.1", timeout: float) -> ssl.SSLSocket:
    """Open a connection to a port of the loopback address, which sends its bytes without delay.

    By default the kernel delays the first request until the server acknowledges the end of the handshake, which takes 40 ms
    without a session ticket.
    """
    plain = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname=server_hostname)
    except BaseException:
        plain.close()
        raise
