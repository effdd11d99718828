"""Sends many requests to two servers at the same time."""

import http.client
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from hack.lib.differential.pair import Pair, Side

_WIDTH = 6
"""Connections to each server."""
_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class JointRequest:
    """A request to both servers, with a body of JSON for each."""

    method: str
    path: str
    bodies: tuple[bytes | None, bytes | None] = (None, None)


Reply = tuple[int, bytes]
"""Status code and body."""


class ParallelRequests:
    """Connections to the reference and to apiext, each of which carries one request at a time."""

    def __init__(self, pair: Pair) -> None:
        self._sides = [[_connection(side) for _ in range(_WIDTH)] for side in (pair.reference, pair.ours)]

    def close(self) -> None:
        """Close all connections."""
        for connections in self._sides:
            for connection in connections:
                connection.close()

    def replies(self, requests: Sequence[JointRequest]) -> Iterator[tuple[Reply, Reply]]:
        """Yield the replies of the reference and of apiext to each request, in order."""
        # a server may have closed those that were idle
        self.close()
        for begin in range(0, len(requests), _WIDTH):
            some = requests[begin : begin + _WIDTH]
            for place, connections in enumerate(self._sides):
                for connection, request in zip(connections, some, strict=False):
                    headers = {} if request.bodies[place] is None else {"Content-Type": "application/json"}
                    connection.request(request.method, request.path, request.bodies[place], headers)
            for theirs, ours in zip(*(connections[: len(some)] for connections in self._sides), strict=True):
                yield _reply(theirs), _reply(ours)

    def reply_to_each(self, method: str, *paths: str) -> list[Reply]:
        """Return the replies to a request to the reference and another one to apiext."""
        for connections, path in zip(self._sides, paths, strict=True):
            connections[0].close()
            connections[0].request(method, path)
        return [_reply(connections[0]) for connections in self._sides]


def _connection(side: Side) -> http.client.HTTPSConnection:
    return http.client.HTTPSConnection(urlsplit(side.url).netloc, timeout=_TIMEOUT, context=side.context)


def _reply(connection: http.client.HTTPSConnection) -> Reply:
    response = connection.getresponse()
    return response.status, response.read()
