"""How connections begin: which certificate is shown, and whose certificates are believed. Both change while the server runs.

Mirrors apiserver pkg/server/dynamiccertificates (tlsconfig.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.server.tls.context import Keys, server_context
from apiext.server.tls.live import LiveContext

if TYPE_CHECKING:
    import asyncio
    import ssl
    from collections.abc import Callable

    from apiext.authentication.peer import PeerIdentification


class Entrance:
    """What the listener and its connections go by. Use it in the event loop's thread only.

    Raises:
        TLSError: something cannot be used; with `show` and `believe`, then, all stays as it was.
    """

    def __init__(self, keys: Keys, identification: PeerIdentification, *, min_version: str) -> None:
        self.keys = keys
        """What is shown, as of now."""
        self._min_version = min_version
        self._subscribers: list[Callable[[], None]] = []
        self.identification = identification
        """Who clients are by their certificates, as of now."""
        self.context = LiveContext(self._build(keys, identification))
        """The context for the listener."""

    def show(self, keys: Keys) -> bool:
        """Show a certificate in all connections that begin from now on. Tells whether it is another one."""
        if keys == self.keys:
            return False
        self.context.current = self._build(keys, self.identification)
        self.keys = keys
        return True

    def believe(self, identification: PeerIdentification) -> bool:
        """Take over authorities of clients and of front proxies, and the names of these. Tells whether something changes.

        Connections that begin from now on are judged by them at once. Open ones are judged anew soon: those whose certificate is good for
        less than it was end after the requests that they are at.
        """
        if identification == self.identification:
            return False
        self.context.current = self._build(self.keys, identification)
        self.identification = identification
        for tell in self._subscribers:
            tell()
        return True

    def is_current(self, transport: asyncio.BaseTransport) -> bool:
        """Whether a connection's certificate was verified by what is believed now."""
        return transport.get_extra_info("ssl_object").context is self.context.current

    def subscribe(self, tell: Callable[[], None]) -> None:
        """Have a function called after each change of what is believed."""
        self._subscribers.append(tell)

    def _build(self, keys: Keys, identification: PeerIdentification) -> ssl.SSLContext:
        return server_context(keys, authorities=identification.pem, min_version=self._min_version)
