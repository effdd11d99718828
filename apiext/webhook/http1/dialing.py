"""Opens connections, through a proxy where the destination has one (Go's net/http Transport.dialConn)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from apiext.webhook.http1.connection import KeptConnection
from apiext.webhook.http1.opening import connect

if TYPE_CHECKING:
    from apiext.webhook.http1.destination import Destination


async def dial(destination: Destination, limit: int) -> KeptConnection:
    """Return a new connection to a destination, for answers with a limit of bytes.

    Raises:
        CallFailedError: there is none.
    """
    loop = asyncio.get_running_loop()
    if destination.proxy is not None:
        from apiext.webhook.http1.tunnel import dial_through

        return await dial_through(destination.proxy, destination, limit)
    return await connect(destination, lambda: KeptConnection(loop, limit))
