"""The servers of an etcd cluster: a channel to each, and the current server."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.config import EtcdConfig, EtcdConfigError
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.http2.connection import Connection
from apiext.storage.etcd.tls import TlsContextLoader


class Servers:
    """All servers. Every call uses the current one until it fails. Then another connected one becomes current."""

    def __init__(self, config: EtcdConfig) -> None:
        """Prepare the channels without connecting.

        Raises:
            EtcdConfigError: an address is malformed or a file cannot be read.
        """
        if not config.servers:
            raise EtcdConfigError("no etcd server is given")
        tls: TlsContextLoader | None = None
        self._urls = ", ".join(config.servers)
        self._channels: list[Channel] = []
        for url in config.servers:
            host, port, secure = _address(url)
            if secure and tls is None:
                tls = TlsContextLoader(config)
            self._channels.append(Channel(host, port, tls.load if secure and tls else None))
        self.current = self._channels[0]
        self.closed = False

    def __len__(self) -> int:
        return len(self._channels)

    def __str__(self) -> str:
        return self._urls

    def ready(self) -> Channel | None:
        """Return the current channel if it is connected. Else start to connect, unless closed, and return None."""
        return self.current if not self.closed and self.current.check_connected() else None

    async def connected(self, seconds: float) -> Channel:
        """Return the current channel if it is connected. Else connect to all servers at once; the first connection wins.

        Raises:
            UnavailableError: no server is connected within that time, or `close` was called.
        """
        self.raise_if_closed()
        if self.current.check_connected():
            return self.current
        waiting = {channel.connect(): channel for channel in self._channels}
        done, _ = await asyncio.wait(waiting, timeout=max(seconds, 0), return_when=asyncio.FIRST_COMPLETED)
        self.raise_if_closed()
        if not done:
            raise UnavailableError(f"no connection to etcd ({self})")
        connected = [channel for task, channel in waiting.items() if task in done]
        if self.current not in connected:
            self.current = connected[0]
        return self.current

    def mark_failed(self, channel: Channel) -> None:
        """Choose the next server if this one is current."""
        if channel is self.current:
            at = self._channels.index(channel)
            self.current = self._channels[(at + 1) % len(self._channels)]

    def connections(self) -> list[tuple[Channel, Connection]]:
        """Return the open connections to all servers, with their channels."""
        return [(channel, connection) for channel in self._channels for connection in channel.connections()]

    def raise_if_closed(self) -> None:
        """Check that `close` was not called.

        Raises:
            UnavailableError: `close` was called.
        """
        if self.closed:
            raise UnavailableError("the connection to etcd is closed")

    async def close(self) -> None:
        """Close all channels. Open calls fail."""
        self.closed = True
        for channel in self._channels:
            await channel.close()


def _address(url: str) -> tuple[str, int, bool]:
    """Return host, port, and whether to use TLS."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port or parts.path.strip("/"):
        raise EtcdConfigError(f"etcd server {url!r}: must be http://host:port or https://host:port")
    return parts.hostname, port, parts.scheme == "https"
