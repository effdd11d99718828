"""What a connection knows of an open call."""

from __future__ import annotations

from apiext.base.http2.send_queue import SendStream
from apiext.storage.etcd.http2.deadlines import NO_DEADLINE
from apiext.storage.etcd.http2.grpc_status import RpcError


class Http2Stream(SendStream):
    """State of one open call in its connection."""

    __slots__ = ("deadline",)

    def __init__(self, deadline: float = NO_DEADLINE) -> None:
        self.begin()
        self.deadline = deadline
        """The time of the event loop at which the call fails."""

    def receive(self, data: bytes) -> int:
        """Process the content of a DATA frame. Return the bytes that the server may now send in addition.

        Raises:
            Http2ProtocolError: a message is compressed.
        """
        raise NotImplementedError

    def end(self, error: RpcError | None) -> None:
        """Set the outcome, None for success. Ignore later outcomes."""
        raise NotImplementedError
