"""Messages between a process and one that it controls: JSON, at most one file descriptor each, over a socket that keeps their bounds."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass, field
from typing import Any, Final

_MAX_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class ProcessMessage:
    """A message. The receiver owns the descriptor."""

    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    descriptor: int | None = None


def message_sockets() -> tuple[socket.socket, socket.socket]:
    """Return both ends of a new channel. Neither blocks."""
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in ends:
        end.setblocking(False)  # noqa: FBT003 -- the standard library's signature
    return ends


def send_message(channel: socket.socket, kind: str, *, descriptor: int | None = None, **fields: Any) -> bool:
    """Send a message. Return whether the other end takes it: it may be gone, or be far behind."""
    data = json.dumps([kind, fields]).encode()
    try:
        if descriptor is None:
            channel.send(data)
        else:
            socket.send_fds(channel, [data], [descriptor])
    except OSError:
        return False
    return True


def receive_message(channel: socket.socket) -> ProcessMessage | None:
    """Return the next message, None if the other end is closed.

    Raises:
        BlockingIOError: there is none yet.
    """
    try:
        data, descriptors, _flags, _address = socket.recv_fds(channel, _MAX_BYTES, 1)
    except ConnectionError:
        return None
    if not data:
        for descriptor in descriptors:
            os.close(descriptor)
        return None
    kind, fields = json.loads(data)
    return ProcessMessage(kind, fields, descriptors[0] if descriptors else None)
