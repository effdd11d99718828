"""Watches on both servers, read to their ends."""

import http.client
import json
import threading
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Pair, Side, Step


@dataclass(slots=True)
class Ended:
    """The events of a watch until the server ended it."""

    code: int
    content_type: str
    events: list[Any]
    bookmarks: list[Any]
    """The first bookmark that only reports the revision. Unless something changes meanwhile, timing decides whether it comes."""


class Watching:
    """A watch that another thread reads; the server has started it when the constructor returns."""

    def __init__(self, side: Side, step: Step) -> None:
        step = side.resolved(step)
        self._connection = http.client.HTTPSConnection(urlsplit(side.url).netloc, timeout=30, context=side.context)
        self._connection.request(step.method, step.path, headers=dict(step.headers))
        self._response = self._connection.getresponse()
        self._lines: list[bytes] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        self._lines.extend(self._response)

    def end(self) -> Ended:
        """Wait until the server ends the watch."""
        self._thread.join()
        self._connection.close()
        events = [masked(parse(line)) for line in self._lines if line.strip()]
        plain = [event for event in events if _is_plain_bookmark(event)]
        others = [event for event in events if event not in plain]
        return Ended(self._response.status, self._response.headers.get("Content-Type", ""), others, plain[:1])


def parse(line: bytes) -> Any:
    """Parse a line as JSON, or return it as text."""
    try:
        return json.loads(line)
    except ValueError:
        return line.decode(errors="replace")


def _is_plain_bookmark(event: Any) -> bool:
    text = str(event)
    return "BOOKMARK" in text and "initial-events-end" not in text


def differences(pair: Pair, watches: list[Step], steps: list[Step]) -> list[str]:
    """Watch on both servers while the steps run there; return the differences of the events and responses."""
    begun = [(step, Watching(pair.reference, step), Watching(pair.ours, step)) for step in watches]
    found = [line for step in steps for line in pair.differences(step)]
    for step, theirs, ours in begun:
        pair.compared += 1
        one, other = theirs.end(), ours.end()
        if (one.code, one.content_type) != (other.code, other.content_type) or not _equal_bookmarks(step, one, other, changed=bool(steps)):
            found.append(f"{step}\n    reference: {one}\n    apiext:    {other}")
        for index in range(max(len(one.events), len(other.events))):
            pair.compared += 1
            reference, apiext = (side.events[index] if index < len(side.events) else "<no event>" for side in (one, other))
            if reference != apiext:
                found.append(f"{step} event {index}\n    reference: {json.dumps(reference)}\n    apiext:    {json.dumps(apiext)}")
    return found


def _equal_bookmarks(step: Step, one: Ended, other: Ended, *, changed: bool) -> bool:
    """Compare the bookmarks; without a change, the reference sends one at times only."""
    if not changed and "allowWatchBookmarks=true" in step.path and not (one.bookmarks and other.bookmarks):
        return True
    return one.bookmarks == other.bookmarks
