"""The HTTP server: its listening socket, and aiohttp's low-level server, which identifies each connection by its client certificate.

The socket is opened first, so that a port in use fails the start early.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from typing import TYPE_CHECKING, Any, Final, cast

from aiohttp import web

from apiext.api.endpoints.request import PEER, Handler
from apiext.base.meta.limits import LISTEN_BACKLOG, MAX_RECEIVED_AHEAD_BYTES
from apiext.base.scheduling.parse_turns import parse_turns
from apiext.server.http.connection import HTTPConnection, Request
from apiext.server.http.unauthenticated import UnauthenticatedConnections
from apiext.server.start_error import StartError
from apiext.server.tls.client_chain import client_certificate

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.http_parser import RawRequestMessage
    from aiohttp.streams import StreamReader
    from aiohttp.web_protocol import RequestHandler

    from apiext.base.meta.request import Peer
    from apiext.server.http.unauthenticated import UnauthenticatedConnection
    from apiext.server.tls.dynamic_tls import DynamicTLS

_LATE_GRACE: Final = 1.0
"""Seconds that a connection accepted during shutdown may stay open. One request per connection would make each pay a TLS handshake."""
_UNSENT_BYTES: Final = 128 * 1024
"""Bytes of an answer that the server encrypts ahead of a client that receives slowly; uvloop's own limit is 512 KiB."""
_ANY_ADDRESS: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- a key, not an address to bind


def listen(address: str, port: int, *, address_flag: str = "--bind-address", port_flag: str = "--secure-port") -> socket.socket:
    """Open a listening socket. Clients that connect wait until the server accepts. An error names the flag to change.

    Raises:
        StartError: the address or port is not available.
    """
    family = socket.AF_INET6 if ipaddress.ip_address(address).version == 6 else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # connections inherit it; set later, it would not change the window that the handshake announces
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MAX_RECEIVED_AHEAD_BYTES)
        listener.bind((address, port))
        listener.listen(LISTEN_BACKLOG)
        listener.setblocking(False)  # noqa: FBT003 -- the standard library's signature
    except OSError as error:
        listener.close()
        place = f"[{address}]:{port}" if family == socket.AF_INET6 else f"{address}:{port}"
        remedy = f"another address: {address_flag}" if error.errno == errno.EADDRNOTAVAIL else f"another port: {port_flag}"
        raise StartError(f"cannot listen on {place}: {error.strerror}; {remedy}") from error
    return listener


def url_of(listener: socket.socket) -> str:
    """Return the URL of a listener for clients on this machine."""
    address, port = listener.getsockname()[:2]
    host = _ANY_ADDRESS.get(address, address)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


class HTTPServer(web.Server):
    """Serves a handler. Each request carries its connection's Peer. A request is cancelled when its client disconnects."""

    def __init__(self, handler: Handler, tls: DynamicTLS | None) -> None:
        """Create the server. Without `tls`, clients talk plain HTTP and are nobody."""
        super().__init__(handler, request_factory=self._request, handler_cancellation=True)
        self._tls = tls
        if tls is not None:
            tls.subscribe(self._on_trust_change)
        self._running_loop = asyncio.get_running_loop()
        self.unauthenticated = UnauthenticatedConnections()
        self._parse_turns = parse_turns(self._running_loop)
        self._transports: dict[HTTPConnection, asyncio.Transport] = {}
        self._peers: dict[RequestHandler, Peer] = {}
        self._draining = False
        self.on_change: Callable[[], None] | None = None
        """Called after each change of the open connections."""
        self._rechecks: set[asyncio.Task[None]] = set()

    @property
    def open_connections(self) -> int:
        """Return about how many connections are open. Those that have not authenticated a request count twice after their handshake."""
        return len(self._transports) + len(self.unauthenticated.members)

    def connection(self, place: UnauthenticatedConnection) -> HTTPConnection:
        """Return the protocol of a new connection."""
        return HTTPConnection(self, place, self._parse_turns, loop=self._running_loop)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Identify the client certificate once for all requests of the connection."""
        super().connection_made(handler, transport)
        transport.set_write_buffer_limits(_UNSENT_BYTES)
        connection = cast("HTTPConnection", handler)
        self._transports[connection] = transport
        if self.on_change is not None:
            self.on_change()
        if self._draining:
            self._running_loop.call_later(_LATE_GRACE, connection.close_after_answer)
        certificate, chain = client_certificate(transport)
        if not certificate or self._tls is None:
            return
        identification = self._tls.identification
        peer = identification.identify(certificate, chain)
        if self._tls.is_current(transport) or identification.keeps(peer, certificate, chain):
            self._peers[handler] = peer
            if peer.is_front_proxy:
                connection.become_front_proxy()
            elif peer.user is not None:
                connection.become_authenticated()
        else:
            transport.close()

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """Forget the connection."""
        self._transports.pop(cast("HTTPConnection", handler), None)
        self._peers.pop(handler, None)
        if self.on_change is not None:
            self.on_change()
        super().connection_lost(handler, exc)

    def drain(self) -> None:
        """End each connection with its next answer. New connections have one more second.

        The answer carries `Connection: close`, so the client sends no further request into the closing connection.
        """
        self._draining = True
        for connection in self._transports:
            connection.close_after_answer()

    def close_idle(self) -> int:
        """Close the idle connections. Return the number of those still open."""
        busy = 0
        for connection, transport in self._transports.items():
            if connection.is_idle():
                connection.force_close()
            elif not transport.is_closing():
                busy += 1
        return busy

    def has_unsent(self) -> bool:
        """Return whether a part of an answer has not reached the kernel."""
        return any(transport.get_write_buffer_size() for transport in self._transports.values())

    def _on_trust_change(self) -> None:
        task = self._running_loop.create_task(self._recheck_peers())
        self._rechecks.add(task)
        task.add_done_callback(self._rechecks.discard)

    async def _recheck_peers(self) -> None:
        """End the connections whose client certificate lost its identity or its trust. Their clients may reconnect."""
        if self._tls is None:
            return
        open_now = [(handler, peer, client_certificate(handler.transport)) for handler, peer in self._peers.items()]
        keeps = self._tls.identification.keeps
        lost = await asyncio.to_thread(
            lambda: [handler for handler, peer, (said, chain) in open_now if chain and not keeps(peer, said, chain)]
        )
        for handler in lost:
            cast("HTTPConnection", handler).end()

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        peer = self._peers.get(protocol)
        state: dict[Any, Any] = {} if peer is None else {PEER: peer}
        return Request(message, payload, protocol, writer, task, self._running_loop, state=state)
