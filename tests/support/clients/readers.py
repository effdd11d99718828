"""Clients that read continuously and record failures."""

from contextlib import AbstractContextManager
from typing import Any

from tests.support.clients.client import GONE, Server
from tests.support.clients.workers import PACE, Worker, at_work


class Reader(Worker):
    """Lists a collection and gets one of its objects until `ended` is set. `failures` must stay empty.

    The next list must have all objects of the previous one: revisions never go back.
    """

    def __init__(self, server: Server, collection: str) -> None:
        super().__init__(server)
        self._collection = collection
        self._revision = 0
        self.answers = 0
        self.failures: list[Any] = []

    def run(self) -> None:
        """Send reads in sequence."""
        with self._client:
            while not self.ended.wait(PACE):
                try:
                    self._read()
                except GONE as error:
                    self.failures.append(repr(error))

    def _read(self) -> None:
        reply = self._client.ask("GET", self._collection)
        self.answers += 1
        if reply.status != 200:
            self.failures.append(reply)
            return
        revision = int(reply.json["metadata"]["resourceVersion"])
        if revision < self._revision:
            self.failures.append(f"from {self._revision} back to {revision}")
        self._revision = revision
        for item in reply.json["items"][:1]:
            found = self._client.ask("GET", f"{self._collection}/{item['metadata']['name']}")
            if found.status not in {200, 404}:
                self.failures.append(found)


def reading(server: Server, collection: str, *, count: int = 2) -> AbstractContextManager[list[Reader]]:
    """Run several readers during the block. Stop and join them at its end."""
    return at_work([Reader(server, collection) for _ in range(count)])
