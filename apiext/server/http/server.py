"""The HTTP server: its listening socket, and aiohttp's low-level server, which identifies each connection by its client certificate.

The socket is opened first, so that a port in use fails the start early.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from aiohttp import web

from apiext.api.endpoints.request import PEER, Handler
from apiext.base.meta.limits import LISTEN_BACKLOG, MAX_RECEIVED_AHEAD_BYTES
from apiext.base.scheduling.parse_turns import parse_turns
from apiext.server.http.connection import HTTPConnection, Request
from apiext.server.http.unauthenticated import UnauthenticatedConnections
from apiext.server.start_error import StartError
from apiext.server.tls.client_chain import client_certificate
from apiext.server.tls.context import HTTP2

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.http_parser import RawRequestMessage
    from aiohttp.streams import StreamReader
    from aiohttp.web_protocol import RequestHandler

    from apiext.base.meta.request import Peer
    from apiext.server.http.unauthenticated import UnauthenticatedConnection
    from apiext.server.options.options import Http2Options
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


class ServedConnection(Protocol):
    """What the server asks of a connection of either protocol."""

    transport: asyncio.Transport | None

    def become_front_proxy(self) -> None:
        """Apply the limits of front proxies."""

    def become_authenticated(self) -> None:
        """Stop counting the connection among those that have not authenticated a request."""

    def close_after_answer(self) -> None:
        """Take no further request soon, and close after the last answer."""

    def force_close(self) -> None:
        """Close the connection."""

    def end(self) -> None:
        """Close the connection after the current answers."""

    def is_idle(self) -> bool:
        """Return whether every received byte has been answered."""
        ...

    async def shutdown(self, timeout: float | None) -> None:  # noqa: ASYNC109 -- aiohttp's signature
        """Wait for the handlers, and close the connection."""


class NegotiatedConnection(asyncio.Protocol):
    """Becomes a connection of the protocol on which client and server agreed in the TLS handshake."""

    def __init__(self, http1: Callable[[], asyncio.Protocol], http2: Callable[[], asyncio.Protocol]) -> None:
        self._http1 = http1
        self._http2 = http2

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Give the connection to its protocol."""
        tls = transport.get_extra_info("ssl_object")
        protocol = self._http2() if tls is not None and tls.selected_alpn_protocol() == HTTP2 else self._http1()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)


class HTTPServer(web.Server):
    """Serves a handler. Each request carries its connection's Peer. A request is cancelled when its client disconnects."""

    def __init__(self, handler: Handler, tls: DynamicTLS | None, http2: Http2Options | None = None) -> None:
        """Create the server. Without `tls`, clients talk plain HTTP and are nobody; without `http2`, all talk HTTP/1.1."""
        super().__init__(handler, request_factory=self._request, handler_cancellation=True)
        self._tls = tls
        self._http2 = http2
        if tls is not None:
            tls.subscribe(self._on_trust_change)
        self._running_loop = asyncio.get_running_loop()
        self.unauthenticated = UnauthenticatedConnections()
        self._parse_turns = parse_turns(self._running_loop)
        self._transports: dict[ServedConnection, asyncio.Transport] = {}
        self._peers: dict[ServedConnection, Peer] = {}
        self._draining = False
        self.on_change: Callable[[], None] | None = None
        """Called after each change of the open connections."""
        self._rechecks: set[asyncio.Task[None]] = set()

    @property
    def open_connections(self) -> int:
        """Return about how many connections are open. Those that have not authenticated a request count twice after their handshake."""
        return len(self._transports) + len(self.unauthenticated.members)

    def connection(self, place: UnauthenticatedConnection) -> asyncio.Protocol:
        """Return the protocol of a new connection."""
        if self._http2 is None:
            return self._http1_connection(place)
        return NegotiatedConnection(partial(self._http1_connection, place), partial(self._http2_connection, place, self._http2))

    def _http1_connection(self, place: UnauthenticatedConnection) -> HTTPConnection:
        return HTTPConnection(self, place, self._parse_turns, loop=self._running_loop)

    def _http2_connection(self, place: UnauthenticatedConnection, settings: Http2Options) -> asyncio.Protocol:
        # few clients of a server on a laptop talk HTTP/2
        from apiext.server.http.http2.connection import Http2Connection

        return Http2Connection(self, place, self._parse_turns, settings)

    def connection_made(self, handler: RequestHandler, transport: asyncio.Transport) -> None:
        """Identify the client certificate once for all requests of the connection."""
        connection = cast("ServedConnection", handler)
        if isinstance(connection, HTTPConnection):
            super().connection_made(handler, transport)
        transport.set_write_buffer_limits(_UNSENT_BYTES)
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
            self._peers[connection] = peer
            if peer.is_front_proxy:
                connection.become_front_proxy()
            elif peer.user is not None:
                connection.become_authenticated()
        else:
            transport.close()

    def connection_lost(self, handler: RequestHandler, exc: BaseException | None = None) -> None:
        """Forget the connection."""
        connection = cast("ServedConnection", handler)
        self._transports.pop(connection, None)
        self._peers.pop(connection, None)
        if self.on_change is not None:
            self.on_change()
        if isinstance(connection, HTTPConnection):
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

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 -- aiohttp's signature
        """Wait for the handlers, `timeout` seconds at most for each connection, and close all connections."""
        others = [connection for connection in self._transports if not isinstance(connection, HTTPConnection)]
        await asyncio.gather(super().shutdown(timeout), *(connection.shutdown(timeout) for connection in others))

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
        open_now = [(connection, peer, client_certificate(connection.transport)) for connection, peer in self._peers.items()]
        keeps = self._tls.identification.keeps
        lost = await asyncio.to_thread(
            lambda: [connection for connection, peer, (said, chain) in open_now if chain and not keeps(peer, said, chain)]
        )
        for connection in lost:
            connection.end()

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        peer = self._peers.get(cast("ServedConnection", protocol))
        state: dict[Any, Any] = {} if peer is None else {PEER: peer}
        return Request(message, payload, protocol, writer, task, self._running_loop, state=state)
