"""TLS connections of clients that write the bytes of their requests themselves."""

import socket
import ssl


def connect(context: ssl.SSLContext, port: int, *, server_hostname: str = "127.0.0.1", timeout: float) -> ssl.SSLSocket:
    """Open a connection to a port of the loopback address, which sends its bytes without delay.

    By default the kernel holds the first request back until the server acknowledges the end of the handshake. A server that
    sends no session ticket does so only after 40 ms.
    """
    plain = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname=server_hostname)
    except BaseException:
        plain.close()
        raise
