"""A client that lists in every way, and records what it saw."""

import http.client
import json
import random
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from hack.lib.pausable import Pausable
from hack.lib.soak.access import Access, Replicas
from hack.lib.soak.attack import BROKEN
from hack.lib.soak.long.collection import MOVING, VERSIONS, State, collection, state

_PATIENCE: Final = 20.0
_PAUSE: Final = 0.2
"""Seconds between two lists."""
_WAYS: Final = ("", "?limit=7", "?resourceVersion=0")
_RETRIED: Final = frozenset({http.HTTPStatus.GONE, http.HTTPStatus.TOO_MANY_REQUESTS})


@dataclass(frozen=True)
class Listed:
    """A list: the time of its request in nanoseconds, its revision, the moving objects with their revisions, and how many there are in all.

    A `fresh` one shows all that was acknowledged before it was asked for.
    """

    call: int
    revision: int
    objects: dict[str, tuple[int, State]]
    total: int
    fresh: bool


class Lister(Pausable):
    """Lists again and again. `problems` has answers that no list may get."""

    def __init__(self, access: Access | Replicas, accept: Callable[[Listed], None]) -> None:
        """Prepare a client; `accept` takes each list, in the thread of the client."""
        super().__init__()
        self._access = access
        self._accept = accept
        self._random = random.Random()  # noqa: S311 -- no secret
        self.problems: list[str] = []

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE):
            with suppress(*BROKEN, ValueError), self._access.connection(_PATIENCE) as connection:  # a proxy answers text
                if listed := self._list(connection, self._random.choice(VERSIONS), self._random.choice(_WAYS)):
                    self._accept(listed)

    def _list(self, connection: http.client.HTTPSConnection, version: str, way: str) -> Listed | None:
        """Return the list of all pages; None without one."""
        call, items, query = time.monotonic_ns(), list[dict[str, Any]](), way
        while True:
            connection.request("GET", f"{collection(version)}{query}")
            response = connection.getresponse()
            data = response.read()
            if response.status != http.HTTPStatus.OK:
                if response.status not in _RETRIED and response.status < http.HTTPStatus.INTERNAL_SERVER_ERROR:
                    self.problems.append(f"a list with {query} got {response.status}: {data[:300]!r}")
                return None
            found = json.loads(data)
            items += found["items"]
            following = found["metadata"].get("continue")
            if not following:
                break
            query = f"{way}&continue={quote(following)}"
        objects = {one["metadata"]["name"]: (int(one["metadata"]["resourceVersion"]), state(one)) for one in items if _moves(one)}
        return Listed(call, int(found["metadata"]["resourceVersion"]), objects, len(items), fresh="resourceVersion" not in way)


def _moves(obj: dict[str, Any]) -> bool:
    return bool(obj["metadata"]["name"].startswith(MOVING))
