"""Tests of listeners that end while clients connect."""

import asyncio
import gc
import socket
import threading
from contextlib import suppress

from hack.lib.servers.listeners import Listener, Listeners
from hack.lib.servers.process import free_port

_CLIENTS = 8


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)


def test_forwards_to_another_port() -> None:
    """Connect a client to another listener; its end ends the connections."""
    target = Listener(_echo, free_port())

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def join(back: asyncio.StreamReader, there: asyncio.StreamWriter) -> None:
            there.write(await reader.read(100))
            writer.write(await back.read(100))
            await reader.read()

        await front.connect(target.port, join)

    front = Listener(forward, free_port())
    with Listeners() as listeners:
        listeners.start(target)
        listeners.start(front)
        client = socket.create_connection(("127.0.0.1", front.port), timeout=20)
        client.sendall(b"ping")
        answer = client.recv(100)
    with client, suppress(ConnectionResetError):
        assert client.recv(100) == b""

    assert answer == b"ping"


def test_ends_while_clients_connect() -> None:
    """Leave no socket and no task open: each would be an unraisable error of this test."""
    for _ in range(10):
        listener, ended, connected = Listener(_echo, free_port()), threading.Event(), threading.Semaphore(0)

        def storm(port: int = listener.port, ended: threading.Event = ended, connected: threading.Semaphore = connected) -> None:
            while not ended.is_set():
                with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
                    connected.release()

        clients = [threading.Thread(target=storm) for _ in range(_CLIENTS)]
        with Listeners() as listeners:
            listeners.start(listener)
            for client in clients:
                client.start()
            for _ in range(10 * _CLIENTS):
                assert connected.acquire(timeout=20)
        ended.set()
        for client in clients:
            client.join()
        gc.collect()
