"""Credentials for proxies."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from yarl import URL


def proxy_authorization(proxy: URL) -> str:
    """Return the header lines with the credentials in the URL of a proxy, "" without any."""
    if proxy.user is None:
        return ""
    credentials = base64.b64encode(f"{proxy.user}:{proxy.password or ''}".encode()).decode()
    return f"Proxy-Authorization: Basic {credentials}\r\n"
