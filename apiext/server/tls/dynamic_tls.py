"""How connections begin: which certificate is shown, and whose certificates are believed. Both change while the server runs.

Mirrors apiserver pkg/server/dynamiccertificates (tlsconfig.go).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.server.tls.context import Keys, server_context
from apiext.server.tls.live_context import LiveContext

if TYPE_CHECKING:
    import asyncio
    import ssl
    from collections.abc import Callable, Sequence

    from apiext.authentication.client_certificate import PeerIdentification


class Entrance:
    """What the listener and its connections go by. Use it in the event loop's thread only.

    Raises:
        TLSError: something cannot be used; with `show` and `believe`, then, all stays as it was.
    """

    def __init__(
        self,
        keys: Sequence[Keys],
        identification: PeerIdentification,
        *,
        min_version: str,
        address: str = "",
    ) -> None:
        """Show one of the keys by the name that a client asks for, or the first. `address` is what those who send no name ask for."""
        self.keys = tuple(keys)
        """What is shown, as of now."""
        self._address = address
        self._min_version = min_version
        self._subscribers: list[Callable[[], None]] = []
        self.identification = identification
        """Who clients are by their certificates, as of now."""
        self._contexts = self._build(self.keys, identification)
        self.context = LiveContext(self._contexts[0])
        """The context for the listener."""

    def show(self, keys: Keys, *, place: int = 0) -> bool:
        """Show a certificate in place of another one in all connections that begin from now on. Tells whether they differ."""
        if keys == self.keys[place]:
            return False
        shown = (*self.keys[:place], keys, *self.keys[place + 1 :])
        self._use(self._build(shown, self.identification))
        self.keys = shown
        return True

    def believe(self, identification: PeerIdentification) -> bool:
        """Take over authorities of clients and of front proxies, and the names of these. Tells whether something changes.

        Connections that begin from now on are judged by them at once. Open ones are judged anew soon: those whose certificate is good for
        less than it was end after the requests that they are at.
        """
        if identification == self.identification:
            return False
        self._use(self._build(self.keys, identification))
        self.identification = identification
        for tell in self._subscribers:
            tell()
        return True

    def is_current(self, transport: asyncio.BaseTransport) -> bool:
        """Whether a connection's certificate was verified by what is believed now."""
        return transport.get_extra_info("ssl_object").context in self._contexts

    def subscribe(self, tell: Callable[[], None]) -> None:
        """Have a function called after each change of what is believed."""
        self._subscribers.append(tell)

    def _use(self, contexts: list[ssl.SSLContext]) -> None:
        self._contexts = contexts
        self.context.current = contexts[0]

    def _build(self, keys: Sequence[Keys], identification: PeerIdentification) -> list[ssl.SSLContext]:
        """A context for each certificate, the default's first."""
        contexts = [server_context(one, authorities=identification.pem, min_version=self._min_version) for one in keys]
        if len(contexts) > 1:
            # loaded where there are several certificates, which is seldom
            from apiext.server.tls.named_certificates import NamedCertificates

            contexts[0].sni_callback = NamedCertificates(keys, contexts, address=self._address).choose
        return contexts
