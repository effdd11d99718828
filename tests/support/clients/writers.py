"""Clients that write in parallel and record acknowledged writes."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from tests.support.builders.crds import widget
from tests.support.builders.seeds import seeded
from tests.support.clients.client import GONE, MERGE_PATCH, Reply, Server
from tests.support.clients.workers import PACE, Worker, at_work


class Writer(Worker):
    """Creates, changes and deletes its own objects until it is stopped or the server fails.

    `held` has the acknowledged value by name, None for a deleted object. `doubts` has the other possible value of an object
    whose last write got no response or a server error.
    """

    def __init__(self, server: Server, collection: str, prefix: str, *, api_version: str = "example.com/v1") -> None:
        super().__init__(server)
        self._collection = collection
        self._prefix = prefix
        self._api_version = api_version
        self._random: random.Random = seeded(prefix)
        self.progress = threading.Semaphore(0)
        self.held: dict[str, int | None] = {}
        self.doubts: dict[str, int | None] = {}
        self.revisions: list[int] = []
        self.failures: list[Reply] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        """Send writes in sequence."""
        with self._client:
            step = 0
            while not self.ended.wait(PACE):
                step += 1
                try:
                    self._write(step)
                except GONE:
                    return

    def _write(self, step: int) -> None:
        alive = [name for name, value in self.held.items() if value is not None and name not in self.doubts]
        choice = self._random.random()
        if not alive or choice < 0.4:
            name = f"{self._prefix}-{step}"
            self.held[name] = None
            body = widget(name, replicas=step) | {"apiVersion": self._api_version}
            self._do("POST", self._collection, body, name, step)
        elif choice < 0.8:
            name = self._random.choice(alive)
            self._do("PATCH", f"{self._collection}/{name}", {"spec": {"replicas": step}}, name, step)
        else:
            name = self._random.choice(alive)
            self._do("DELETE", f"{self._collection}/{name}", None, name, None)

    def _do(self, method: str, path: str, body: Any, name: str, value: int | None) -> None:
        self.doubts[name] = value
        reply = self._client.ask(method, path, body, MERGE_PATCH if method == "PATCH" else None)
        if reply.status >= 500 or reply.status == 429:
            self.failures.append(reply)
            return
        if reply.status >= 300:
            self.wrong.append(f"{method} {path}: {reply.body!r}")
        del self.doubts[name]
        self.held[name] = value
        if value is not None:
            self.revisions.append(int(reply.json["metadata"]["resourceVersion"]))
        self.progress.release()

    def wait(self, count: int, timeout: float = 40) -> None:
        """Return after `count` more acknowledged writes."""
        for _ in range(count):
            assert self.progress.acquire(timeout=timeout), "no write is acknowledged"


class PatientWriter(Writer):
    """Repeats a write until it succeeds, if `refusal` returns a reason for its failure. `refused` counts the refusals by code."""

    def __init__(
        self, server: Server, collection: str, prefix: str, *, api_version: str, refusal: Callable[[Reply], bool], pause: float = 0.05
    ) -> None:
        super().__init__(server, collection, prefix, api_version=api_version)
        self._refusal = refusal
        self._pause = pause
        self.refused: Counter[int] = Counter()

    def _do(self, method: str, path: str, body: Any, name: str, value: int | None) -> None:
        while True:
            reply = self._client.ask(method, path, body, MERGE_PATCH if method == "PATCH" else None)
            if not self._refusal(reply):
                break
            self.refused[reply.status] += 1
            if self.ended.wait(self._pause):
                return
        if reply.status >= 300:
            self.wrong.append(f"{method} {path}: {reply.body!r}")
            return
        self.held[name] = value
        self.progress.release()


def writing(
    server: Server, collection: str, *, count: int = 5, label: str = "w", api_version: str = "example.com/v1"
) -> AbstractContextManager[list[Writer]]:
    """Run several writers during the block. Stop and join them at its end."""
    return at_work([Writer(server, collection, f"{label}{index}", api_version=api_version) for index in range(count)])


def assert_kept(writers: list[Writer], items: list[dict[str, Any]]) -> None:
    """Assert that the stored objects equal the acknowledged writes. A write in doubt may have happened."""
    found = {item["metadata"]["name"]: item["spec"]["replicas"] for item in items}
    expected: dict[str, int] = {}
    for writer in writers:
        assert not writer.wrong
        for name, value in writer.held.items():
            sure = value if name not in writer.doubts or found.get(name) != writer.doubts[name] else writer.doubts[name]
            if sure is not None:
                expected[name] = sure
    assert found == expected
