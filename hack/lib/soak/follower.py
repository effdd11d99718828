"""A watch that resumes at its last revision after each break, and lists again only after a refusal."""

import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any, Final, Generic, TypeVar

from hack.lib.pausable import Pausable
from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.attack import BROKEN

V = TypeVar("V")
_PAUSE: Final = 0.05
"""Seconds between two attempts; no event announces that the server is back."""
_SHOWN: Final = 200
"""Maximum of kept characters of a refusal."""


class WatchError(Exception):
    """The answer to a refused watch, or its ERROR event. `retry_after` are the seconds in the Retry-After of a 429 or a server error."""

    def __init__(self, code: int, text: str, retry_after: float | None = None) -> None:
        super().__init__(f"{code} {text[:_SHOWN]}")
        self.code = code
        self.retry_after = retry_after


class Follower(Pausable, Generic[V]):
    """Follows a collection in a thread during the block; `value` returns the compared value of an object.

    `items` is the state after all events, and `seen` has the events by revision. `lists` counts lists; `skipped` has the ranges
    of revisions that a later list covered. `problems` collects events that contradict earlier ones.
    """

    def __init__(
        self,
        access: Access | Replicas,
        path: str,
        value: Callable[[dict[str, Any]], V],
        *,
        patience: float = 1.0,
    ) -> None:
        """Prepare a follower; it connects again after `patience` seconds without an event."""
        super().__init__()
        self._access = access
        self._path = path
        self._value = value
        self._patience = patience
        self._revision = 0
        self._expired = True
        self.items: dict[str, tuple[V, int]] = {}
        self.seen: dict[int, tuple[str, V | None]] = {}
        self.lists = 0
        self.skipped: list[range] = []
        self.problems: list[str] = []

    @property
    def revision(self) -> int:
        """Return the revision of the last list, event or bookmark."""
        return self._revision

    def missed(self, revisions: list[int]) -> list[int]:
        """Return the revisions that no event and no list covered so far."""
        return [one for one in revisions if one not in self.seen and not any(one in skipped for skipped in self.skipped)]

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE):
            with self._access.connection(self._patience) as connection:
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
        """Process events until the watch ends; after a silence, break the connection and resume."""
        try:
            self._read(self._open(connection))
        except WatchError as error:
            self._expired = error.code == http.HTTPStatus.GONE

    def _open(self, connection: http.client.HTTPSConnection) -> http.client.HTTPResponse:
        """Send a watch from the last revision, and return the response with its events.

        Raises:
            WatchError: The server refuses the watch.
        """
        connection.request("GET", f"{self._path}?watch=true&allowWatchBookmarks=true&resourceVersion={self._revision}")
        response = connection.getresponse()
        code = response.status
        if code != http.HTTPStatus.OK:
            after = response.headers.get("Retry-After", "")
            waits = after.isdecimal() and (code == http.HTTPStatus.TOO_MANY_REQUESTS or code >= http.HTTPStatus.INTERNAL_SERVER_ERROR)
            raise WatchError(code, response.read().decode(errors="replace"), float(after) if waits else None)
        return response

    def _read(self, response: http.client.HTTPResponse) -> None:
        """Process the events of a watch until it ends.

        Raises:
            WatchError: It ends with an ERROR event.
        """
        for line in _lines(response):
            if self._ended.is_set():
                return
            event = json.loads(line)
            if event["type"] == "ERROR":
                raise WatchError(event["object"]["code"], event["object"]["message"])
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


def _lines(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the lines of a response. Unlike its own `readline`, recognize an aborted response.

    Raises:
        IncompleteRead: The server aborted the response.
    """
    rest = b""
    while data := response.read1():
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
