"""Import aiohttp without the system's certificates. Each client that needs them reads them itself."""

from __future__ import annotations

import ssl
import sys


def import_aiohttp() -> None:
    """Import aiohttp, before any other module does and while there is one thread.

    At its import aiohttp reads the system's certificates for clients without an SSL context. That takes 20 ms and 2 MiB.
    After this import, a client without an SSL context trusts no server.
    """
    if "aiohttp" in sys.modules:
        return
    create = ssl.create_default_context
    ssl.create_default_context = _trusts_nobody  # type: ignore[assignment]
    try:
        import aiohttp  # noqa: F401
    finally:
        ssl.create_default_context = create


def _trusts_nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
