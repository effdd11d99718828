"""The servers of an etcd cluster: a channel to each, and the choice of the current one."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.config import EtcdConfig, EtcdConfigError
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.tls import TlsContextLoader


class Server:
    """One server and its channel."""

    __slots__ = ("channel", "url")

    def __init__(self, url: str, channel: Channel) -> None:
        self.url = url
        self.channel = channel


class Servers:
    """All servers. Every call goes to the current one until it fails; then another connected one becomes the current."""

    def __init__(self, config: EtcdConfig) -> None:
        """Prepare the channels without connecting.

        Raises:
            EtcdConfigError: an address is malformed or a file cannot be read.
        """
        if not config.servers:
            raise EtcdConfigError("no etcd server is given")
        tls: TlsContextLoader | None = None
        self._servers: list[Server] = []
        for url in config.servers:
            host, port, secure = _address(url)
            if secure and tls is None:
                tls = TlsContextLoader(config)
            self._servers.append(Server(url, Channel(host, port, tls.load if secure and tls else None)))
        self.current = self._servers[0]
        self._closed = False

    def __len__(self) -> int:
        return len(self._servers)

    def __str__(self) -> str:
        return ", ".join(server.url for server in self._servers)

    async def wait_connected(self, seconds: float) -> Server:
        """Connect to all servers at once and return the first connected one, preferably the current; it becomes the current.

        Raises:
            UnavailableError: no server is connected within that time, or `close` was called.
        """
        self.raise_if_closed()
        waiting = {server.channel.connect(): server for server in self._servers}
        done, _ = await asyncio.wait(waiting, timeout=max(seconds, 0), return_when=asyncio.FIRST_COMPLETED)
        self.raise_if_closed()
        if not done:
            raise UnavailableError(f"no connection to etcd ({self})")
        connected = [server for task, server in waiting.items() if task in done]
        if self.current not in connected:
            self.current = connected[0]
        return self.current

    def last_error(self) -> str:
        """Return why the current server is not connected, "" if unknown."""
        return self.current.channel.last_error

    def mark_failed(self, server: Server) -> None:
        """Choose the next server if this one is the current."""
        if server is self.current:
            at = self._servers.index(server)
            self.current = self._servers[(at + 1) % len(self._servers)]

    def raise_if_closed(self) -> None:
        """Check that `close` was not called.

        Raises:
            UnavailableError: `close` was called.
        """
        if self._closed:
            raise UnavailableError("the connection to etcd is closed")

    def is_closed(self) -> bool:
        """Return whether `close` was called."""
        return self._closed

    async def close(self) -> None:
        """Close all channels. Open calls fail."""
        self._closed = True
        for server in self._servers:
            await server.channel.close()


def _address(url: str) -> tuple[str, int, bool]:
    """Return host, port, and whether TLS is used."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port or parts.path.strip("/"):
        raise EtcdConfigError(f"etcd server {url!r}: must be http://host:port or https://host:port")
    return parts.hostname, port, parts.scheme == "https"
