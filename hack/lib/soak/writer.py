"""A client that creates, updates, patches and deletes its objects, and records what the server acknowledged."""

import http.client
import json
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.attack import BROKEN, JSON, MERGE_PATCH
from hack.lib.soak.collection import KEPT, widget

State = tuple[int, int] | None
"""The value and the revision of an object, None if there is none."""
_PATIENCE: Final = 10.0
"""Seconds to wait for an answer; a write without one is in doubt."""


class Writer:
    """Writes to objects of its own, one request after the other.

    `held` is the acknowledged state of each object. `doubts` has the possible other value of an object whose last write got no
    answer or a server error, None for a deletion. `writes` counts acknowledged writes. `problems` lists answers that no write
    of a single owner may get.
    """

    def __init__(self, access: Access | Replicas, prefix: str, *, pause: float = 0.0) -> None:
        """Prepare a writer; `pause` is the delay before each request in seconds."""
        self._access = access
        self._pause = pause
        self._prefix = prefix
        self._random = random.Random(prefix)  # noqa: S311 -- no secret
        self._step = 0
        self.held: dict[str, State] = {}
        self.doubts: dict[str, int | None] = {}
        self._acknowledged: list[tuple[int, str, int]] = []
        self.writes = 0
        self.problems: list[str] = []

    def run(self, ended: threading.Event) -> None:
        """Write until `ended` is set or the connection breaks."""
        with suppress(*BROKEN), self._access.connection(_PATIENCE) as connection:
            while not ended.wait(self._pause):
                self._write(connection)

    def settle(self, found: dict[str, State]) -> list[str]:
        """Compare the stored objects with the acknowledged ones, adopt the state of objects in doubt, and return the losses."""
        lost = []
        for name, state in self.held.items():
            stored = found.get(name)
            if name in self.doubts and (stored[0] if stored else None) == self.doubts[name]:
                self.held[name] = stored
            elif stored != state:
                lost.append(f"{name} is {stored} (value, revision), acknowledged was {state}")
        self.doubts.clear()
        return lost

    def take(self) -> list[tuple[int, str, int]]:
        """Return revision, name and value of each acknowledged write since the last call; deletions have no revision."""
        taken, self._acknowledged = self._acknowledged, []
        return taken

    def _write(self, connection: http.client.HTTPSConnection) -> None:
        self._step += 1
        alive = {name: state for name, state in self.held.items() if state and name not in self.doubts}
        name = self._random.choice(sorted(alive)) if alive else ""
        verb = self._random.choice(("POST", "POST", "PUT", "PUT", "PATCH", "PATCH", "DELETE")) if alive else "POST"
        if verb == "POST":
            name = f"{self._prefix}-{self._step}"
            self.held[name] = None
        path = KEPT if verb == "POST" else f"{KEPT}/{name}"
        value = None if verb == "DELETE" else self._step
        self.doubts[name] = value
        connection.request(verb, path, self._body(verb, name), MERGE_PATCH if verb == "PATCH" else JSON)
        response = connection.getresponse()
        self._take(verb, name, value, response.status, response.read())

    def _body(self, verb: str, name: str) -> str | None:
        if verb == "DELETE":
            return None
        if verb == "PATCH":
            return json.dumps({"spec": {"count": self._step}})
        body = widget(name, count=self._step)
        if state := self.held[name]:
            body["metadata"]["resourceVersion"] = str(state[1])
        return json.dumps(body)

    def _take(self, verb: str, name: str, value: int | None, status: int, answer: bytes) -> None:
        """Record an answer; a server error leaves the write in doubt."""
        if status >= 500 or status == http.HTTPStatus.TOO_MANY_REQUESTS:
            return
        if status >= 300:
            self.problems.append(f"{verb} of {name} got {status}: {answer[:300]!r}")
            return
        del self.doubts[name]
        self.writes += 1
        if value is None:
            self.held[name] = None
            return
        revision = int(json.loads(answer)["metadata"]["resourceVersion"])
        self.held[name] = (value, revision)
        self._acknowledged.append((revision, name, value))


def count(obj: dict[str, Any]) -> int:
    """Return the value of an object."""
    value: int = obj["spec"]["count"]
    return value


def states(items: list[dict[str, Any]]) -> dict[str, State]:
    """Return the states of listed objects by name."""
    return {item["metadata"]["name"]: (count(item), int(item["metadata"]["resourceVersion"])) for item in items}


def start(writers: list[Writer], ended: threading.Event) -> Callable[[], None]:
    """Run writers in threads, and return a function that ends and joins them."""
    threads = [threading.Thread(target=writer.run, args=(ended,), daemon=True) for writer in writers]
    for thread in threads:
        thread.start()

    def join() -> None:
        ended.set()
        for thread in threads:
            thread.join()

    return join
