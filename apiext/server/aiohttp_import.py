"""Import aiohttp without the certificates of the system, which every client here that needs them reads for itself."""

from __future__ import annotations

import ssl
import sys


def import_aiohttp() -> None:
    """Import aiohttp, before any other module does and while there is one thread.

    aiohttp reads the certificates of the system when it is imported, for clients that pass no context; that takes 20 ms and 2 MiB.
    After this import such a client trusts nobody.
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
