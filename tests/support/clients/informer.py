"""An informer: lists once, watches, resumes at its last revision, and lists again only after 410."""

import threading
from collections.abc import Callable
from typing import Any, Final, Self

from tests.support.clients.client import GONE, Client, Server, Watch

_PATIENCE: Final = 0.05


class Informer:
    """Follows a collection in a thread, across restarts of the server.

    `revisions` has the revisions of all events in order, `lists` counts the lists, `refused` has the
    codes of refused watches, and `skipped` the ranges of revisions
    covered by a list after 410. `problems` collects violations of the protocol and must stay empty.
    """

    def __init__(self, server: Server, collection: str) -> None:
        self._server = server
        self._collection = collection
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._watch: Watch | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._version = ""
        self.items: dict[str, Any] = {}
        self.revisions: list[int] = []
        self.deleted: list[str] = []
        self.lists = 0
        self.refused: list[int] = []
        self.skipped: list[tuple[int, int]] = []
        self._lost = 0
        self.problems: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        self.wait(lambda: bool(self.lists))
        return self

    def __exit__(self, *_exc: object) -> None:
        self._ended.set()
        if self._watch is not None:
            self._watch.close()
        self._thread.join(20)
        assert not self._thread.is_alive()

    def wait(self, holds: Callable[[], bool], timeout: float = 40) -> None:
        """Return once a condition of the informer's state holds."""
        with self._changed:
            assert self._changed.wait_for(lambda: bool(self.problems) or holds(), timeout), self._describe()
        assert not self.problems, self.problems

    def wait_equal(self, expected: list[dict[str, Any]], timeout: float = 40) -> None:
        """Return once the informer holds exactly these objects."""
        wanted = {item["metadata"]["name"]: item for item in expected}
        try:
            self.wait(lambda: self.items == wanted, timeout)
        except AssertionError:
            differing = {name for name in wanted.keys() | self.items.keys() if wanted.get(name) != self.items.get(name)}
            one = min(differing, default="")
            raise AssertionError(f"{sorted(differing)}: {self.items.get(one)} is not {wanted.get(one)}") from None

    def missed(self, revisions: list[int]) -> list[int]:
        """Return the revisions without an event and not covered by a list."""
        seen = set(self.revisions)
        return [one for one in revisions if one not in seen and not any(start < one <= end for start, end in self.skipped)]

    def _describe(self) -> str:
        return f"{len(self.items)} objects, {len(self.revisions)} events, {self.lists} lists, at {self._version}"

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                if not self._version:
                    self._list()
                self._follow()
            except GONE:
                # The server is down, and no event announces that it is back.
                self._ended.wait(_PATIENCE)
            except Exception as error:  # noqa: BLE001 -- shown by the waiting test
                self._problem(f"{type(error).__name__}: {error}")
                return

    def _list(self) -> None:
        with Client(self._server) as client:
            reply = client.ask("GET", self._collection)
        if reply.status != 200:
            if reply.status < 500 and reply.status != 429:
                self._problem(f"list is answered with {reply.status}: {reply.body!r}")
            self._ended.wait(_PATIENCE)
            return
        with self._changed:
            found = reply.json
            self.items = {item["metadata"]["name"]: item for item in found["items"]}
            self._version = found["metadata"]["resourceVersion"]
            if self.lists:
                self.skipped.append((self._lost, int(self._version)))
            self.lists += 1
            self._changed.notify_all()

    def _follow(self) -> None:
        if not self._version:
            return
        with (
            Client(self._server) as client,
            client.watch(self._collection, resourceVersion=self._version, allowWatchBookmarks="true") as events,
        ):
            self._watch = events
            if self._ended.is_set():
                return
            if events.status != 200:
                self.refused.append(events.status)
                self._ended.wait(_PATIENCE)
                return
            for event in events:
                if not self._take(event):
                    return

    def _take(self, event: dict[str, Any]) -> bool:
        """Apply an event. Return False if the watch cannot continue."""
        with self._changed:
            obj = event["object"]
            if event["type"] == "ERROR":
                if obj["code"] == 410:
                    self._lost, self._version = int(self._version), ""
                return False
            metadata = obj["metadata"]
            if int(metadata["resourceVersion"]) < int(self._version):
                self.problems.append(f"{event['type']} goes back from {self._version} to {metadata['resourceVersion']}")
            self._version = metadata["resourceVersion"]
            if event["type"] != "BOOKMARK":
                self._apply(event["type"], metadata["name"], obj)
            self._changed.notify_all()
        return True

    def _apply(self, kind: str, name: str, obj: dict[str, Any]) -> None:
        if (kind == "ADDED") == (name in self.items):
            self.problems.append(f"{kind} of {name}, which is {'' if name in self.items else 'not '}there")
        self.revisions.append(int(self._version))
        if kind == "DELETED":
            self.deleted.append(name)
            self.items.pop(name, None)
        else:
            self.items[name] = obj

    def _problem(self, text: str) -> None:
        with self._changed:
            self.problems.append(text)
            self._changed.notify_all()
