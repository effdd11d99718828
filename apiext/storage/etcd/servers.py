"""The servers of a cluster: a channel to each, and which one is in use."""

from __future__ import annotations

import asyncio
from functools import partial
from urllib.parse import urlsplit

from apiext.storage.backend import UnavailableError
from apiext.storage.etcd.config import EtcdConfig, EtcdConfigError
from apiext.storage.etcd.http2.channel import Channel
from apiext.storage.etcd.tls import tls_context


class Server:
    """One server and the way to it."""

    __slots__ = ("channel", "url")

    def __init__(self, url: str, channel: Channel) -> None:
        self.url = url
        self.channel = channel

    def ready(self) -> bool:
        """Whether it is connected; starts to connect where it is not."""
        return self.channel.ready()

    def connecting(self) -> asyncio.Task[None]:
        """Ends when it is connected or closed."""
        return self.channel.connecting()


class Servers:
    """All servers. One is used for everything until it fails; then the next one that is connected."""

    def __init__(self, config: EtcdConfig) -> None:
        """Connects to nothing yet.

        Raises:
            EtcdConfigError: an address is malformed or a file cannot be read.
        """
        if not config.servers:
            raise EtcdConfigError("no etcd server is given")
        context = partial(tls_context, config)
        self._servers: list[Server] = []
        for url in config.servers:
            host, port, secure = _address(url)
            self._servers.append(Server(url, Channel(host, port, context if secure else None)))
            if secure:
                context()
        self.current = self._servers[0]
        self._closed = False

    def __len__(self) -> int:
        return len(self._servers)

    def __str__(self) -> str:
        return ", ".join(server.url for server in self._servers)

    async def find(self, within: float) -> Server:
        """A server that is connected, the current one if possible, then the one after it.

        Raises:
            UnavailableError: there is none within that time (seconds).
        """
        self.check()
        waiting = {server.connecting(): server for server in self._servers}
        done, _ = await asyncio.wait(waiting, timeout=max(within, 0), return_when=asyncio.FIRST_COMPLETED)
        self.check()
        if not done:
            raise UnavailableError(f"no connection to etcd ({self})")
        connected = [server for task, server in waiting.items() if task in done]
        if self.current not in connected:
            self.current = connected[0]
        return self.current

    def reason(self) -> str:
        """Why there is no connection to the current server, as far as it is known."""
        return self.current.channel.trouble

    def failed(self, server: Server) -> None:
        """Prefer another server from now on."""
        if server is self.current:
            at = self._servers.index(server)
            self.current = self._servers[(at + 1) % len(self._servers)]

    def check(self) -> None:
        """Raise UnavailableError once closed."""
        if self._closed:
            raise UnavailableError("the connection to etcd is closed")

    def closed(self) -> bool:
        """Whether `close` has been called."""
        return self._closed

    async def close(self) -> None:
        """Close all channels; calls under way are cancelled."""
        self._closed = True
        for server in self._servers:
            await server.channel.close()


def _address(url: str) -> tuple[str, int, bool]:
    """Host, port, and whether it is to be secured."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port or parts.path.strip("/"):
        raise EtcdConfigError(f"etcd server {url!r}: must be http://host:port or https://host:port")
    return parts.hostname, port, parts.scheme == "https"
