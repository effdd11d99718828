"""The listening socket of the operator's endpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from apiext.operatorserver.router import OperatorRouter
from apiext.server.http.acceptor import Acceptor
from apiext.server.http.server import HTTPServer, listen

if TYPE_CHECKING:
    from apiext.operator.options import BindAddress
    from apiext.operator.status import OperatorStatus

_END_SECONDS: Final = 1.0
"""Seconds that requests in progress may take at the end."""


@asynccontextmanager
async def status_endpoints(address: BindAddress, status: OperatorStatus) -> AsyncIterator[str]:
    """Serve the endpoints while the context is open; yield their URL.

    Raises:
        StartError: the address is not available.
    """
    listener = listen(address.host, address.port)
    http = HTTPServer(OperatorRouter(status), None)
    acceptor = Acceptor(listener, http, None)
    host, port = listener.getsockname()[:2]
    try:
        yield f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    finally:
        acceptor.close()
        await http.shutdown(_END_SECONDS)
