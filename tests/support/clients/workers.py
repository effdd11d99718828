"""Runs clients in parallel, one thread each."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from tests.support.clients.client import Client, Server

PACE: Final = 0.01
"""Seconds before each request of a client that repeats requests: the processor belongs to the servers."""


class Worker(threading.Thread):
    """Works on its own connection until `ended` is set."""

    def __init__(self, server: Server) -> None:
        super().__init__(daemon=True)
        self._client = Client(server)
        self.ended = threading.Event()


Kind = TypeVar("Kind", bound=Worker)


@contextmanager
def at_work(workers: list[Kind]) -> Iterator[list[Kind]]:
    """Run all workers during the block. Stop and join them at its end."""
    for worker in workers:
        worker.start()
    try:
        yield workers
    finally:
        for worker in workers:
            worker.ended.set()
        for worker in workers:
            worker.join(60)
            assert not worker.is_alive()
