"""A watch that resumes at its last revision whenever it breaks, and lists again only when that revision has expired."""

import http.client
import json
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, Self, TypeVar

from hack.lib.soak.access import Access
from hack.lib.soak.attack import BROKEN

V = TypeVar("V")
_PAUSE: Final = 0.05
"""Seconds between two attempts; no event announces that the server is back."""


class Follower(Generic[V]):
    """Follows a collection in a thread during the block; `value` returns what it remembers of an object.

    `items` is the state that the events describe, and `seen` the events by revision. `lists` counts lists; `skipped` has the
    ranges of revisions that a later list covered. `problems` collects events that contradict earlier ones.
    """

    def __init__(self, access: Access, path: str, value: Callable[[dict[str, Any]], V]) -> None:
        self._access = access
        self._path = path
        self._value = value
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._revision = 0
        self._expired = True
        self.items: dict[str, tuple[V, int]] = {}
        self.seen: dict[int, tuple[str, V | None]] = {}
        self.lists = 0
        self.skipped: list[range] = []
        self.problems: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._ended.set()
        self._thread.join()

    def missed(self, revisions: list[int]) -> list[int]:
        """Return the revisions that no event and no list covered so far."""
        return [one for one in revisions if one not in self.seen and not any(one in skipped for skipped in self.skipped)]

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE):
            with self._access.connection(1) as connection:
                try:
                    if self._expired:
                        self._list(connection)
                    self._watch(connection)
                except (*BROKEN, ValueError):  # a proxy answers text
                    continue

    def _list(self, connection: http.client.HTTPSConnection) -> None:
        connection.request("GET", self._path)
        response = connection.getresponse()
        found = json.loads(response.read())
        if response.status != http.HTTPStatus.OK:
            raise http.client.HTTPException(found)
        revision = int(found["metadata"]["resourceVersion"])
        if revision < self._revision:
            self.problems.append(f"a list goes back from revision {self._revision} to {revision}")
        self.items = {item["metadata"]["name"]: (self._value(item), int(item["metadata"]["resourceVersion"])) for item in found["items"]}
        self.skipped.append(range(self._revision + 1, revision + 1))
        self._revision = revision
        self._expired = False
        self.lists += 1

    def _watch(self, connection: http.client.HTTPSConnection) -> None:
        """Take events until the watch ends; a pause of a second breaks the connection, and the watch resumes."""
        connection.request("GET", f"{self._path}?watch=true&allowWatchBookmarks=true&resourceVersion={self._revision}")
        response = connection.getresponse()
        while not self._ended.is_set() and (line := response.readline()):
            event = json.loads(line)
            if event.get("type") not in {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"}:
                self._expired = event.get("code", event.get("object", {}).get("code")) == http.HTTPStatus.GONE
                return
            self._take(event["type"], event["object"])

    def _take(self, kind: str, obj: dict[str, Any]) -> None:
        revision, name = int(obj["metadata"]["resourceVersion"]), obj["metadata"].get("name")
        if revision < self._revision or (kind != "BOOKMARK" and revision == self._revision):
            self.problems.append(f"{kind} goes back from revision {self._revision} to {revision}")
        self._revision = revision
        if kind == "BOOKMARK":
            return
        if (kind == "ADDED") == (name in self.items):
            self.problems.append(f"{kind} of {name}, which was {'' if name in self.items else 'not '}there")
        value = None if kind == "DELETED" else self._value(obj)
        self.seen[revision] = (name, value)
        if value is None:
            self.items.pop(name, None)
        else:
            self.items[name] = (value, revision)
