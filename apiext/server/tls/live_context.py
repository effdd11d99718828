"""The context of a listener, which can be exchanged while the listener goes on."""

from __future__ import annotations

import ssl
from typing import Any, Self


class LiveContext(ssl.SSLContext):
    """Stands for the context of the moment: each connection keeps the one with which it began.

    The event loop calls `wrap_bio` once for each connection that it accepts, and nothing else.
    """

    current: ssl.SSLContext

    def __new__(cls, first: ssl.SSLContext) -> Self:
        """Begin with a context."""
        context = super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)
        context.current = first
        return context

    def wrap_bio(self, *args: Any, **kwargs: Any) -> ssl.SSLObject:
        """Begin a connection."""
        return self.current.wrap_bio(*args, **kwargs)
