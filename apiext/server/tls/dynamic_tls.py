"""TLS of the listener: its certificates and the authorities of client certificates, both replaceable while the server runs.

Mirrors apiserver pkg/server/dynamiccertificates (tlsconfig.go).
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

from apiext.server.tls.context import CertKey, server_context

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from apiext.api.authentication.client_certificate import PeerIdentification


class _SwitchableContext(ssl.SSLContext):
    """A listener's context that delegates to the current one. A connection keeps the context with which it began.

    The event loop calls `wrap_bio` once for each accepted connection and no other method.
    """

    current: ssl.SSLContext

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Return the TLS object of a new connection."""
        return self.current.wrap_bio(*args, **kwargs)


class DynamicTLS:
    """The certificates and authorities that new connections use. Not thread-safe: use it in the event loop's thread only.

    Raises:
        TLSError: a certificate, key or authority is invalid. A failed `set_certificate` or `set_client_trust` changes nothing.
    """

    def __init__(
        self,
        keys: Sequence[CertKey],
        identification: PeerIdentification,
        *,
        min_version: str,
        address: str = "",
        http2: bool = False,
    ) -> None:
        """Select a certificate by the client's server name, else the first. `address` replaces a missing server name.

        `http2` offers HTTP/2 beside HTTP/1.1.
        """
        self.keys = tuple(keys)
        """The current certificates."""
        self._address = address
        self._min_version = min_version
        self._http2 = http2
        self._subscribers: list[Callable[[], None]] = []
        self.identification = identification
        """The current authorities of clients and front proxies."""
        self._contexts = self._build(self.keys, identification)
        self.context = _SwitchableContext(ssl.PROTOCOL_TLS_SERVER)
        """The context for the listener."""
        self.context.current = self._contexts[0]

    def set_certificate(self, keys: CertKey, *, place: int = 0) -> bool:
        """Replace the certificate at an index of `keys`, for new connections. Return whether it differs from the previous one."""
        if keys == self.keys[place]:
            return False
        replaced = (*self.keys[:place], keys, *self.keys[place + 1 :])
        self._use(self._build(replaced, self.identification))
        self.keys = replaced
        return True

    def set_client_trust(self, identification: PeerIdentification) -> bool:
        """Replace the authorities of clients and front proxies, and the names of front proxies. Return whether anything changes.

        New connections use them at once. Subscribers check the open connections again: if a certificate loses a privilege, its connection
        ends after the current request.
        """
        if identification == self.identification:
            return False
        self._use(self._build(self.keys, identification))
        self.identification = identification
        for on_change in self._subscribers:
            on_change()
        return True

    def is_current(self, transport: asyncio.BaseTransport) -> bool:
        """Return whether the current authorities verified a connection's certificate."""
        return transport.get_extra_info("ssl_object").context in self._contexts

    def subscribe(self, on_change: Callable[[], None]) -> None:
        """Call a function after each change of the authorities."""
        self._subscribers.append(on_change)

    def _use(self, contexts: list[ssl.SSLContext]) -> None:
        self._contexts = contexts
        self.context.current = contexts[0]

    def _build(self, keys: Sequence[CertKey], identification: PeerIdentification) -> list[ssl.SSLContext]:
        """Return a context for each certificate, the default's first."""
        trusted, version = identification.pem, self._min_version
        contexts = [server_context(one, authorities=trusted, min_version=version, http2=self._http2) for one in keys]
        if len(contexts) > 1:
            # few servers have several certificates
            from apiext.server.tls.named_certificates import NamedCertificates

            contexts[0].sni_callback = NamedCertificates(keys, contexts, address=self._address).choose
        return contexts
