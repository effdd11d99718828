"""Lists and watches whose clients leave or do not read, and many large objects."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from hack.lib.soak.attack import Attack
from hack.lib.soak.collection import ALL, ATTACKED, KEPT, widget

_TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"
_FORMS: Final = (
    "application/json",
    "application/yaml",
    _TABLE,
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/cbor",
)
_PAUSE: Final = 0.5
"""Seconds for which a client without reads stays connected."""


@contextmanager
def _unread(attack: Attack, heads: list[str]) -> Iterator[None]:
    """Send requests for the block and read no answer."""
    with ExitStack() as stack:
        for head in heads:
            connection = stack.enter_context(attack.connect(attack.front))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(head.encode())
        yield


def _get(path: str, accept: str = "application/json") -> str:
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\n\r\n"


def _large(attack: Attack, count: int, length: int) -> None:
    """Create objects with long payloads."""
    attack.together([partial(attack.ask, "POST", ATTACKED, widget(f"large-{number}", payload="x" * length)) for number in range(count)], 4)


def watchers_that_never_read(attack: Attack) -> None:
    """Watch on many connections without reading, in every form, while large objects change."""
    queries = ["watch=true", "watch=true&resourceVersion=0", "watch=true&allowWatchBookmarks=true&labelSelector=a!=b"]
    heads = [
        _get(f"{ALL}?{query}&fieldSelector=metadata.name!=n{number}", form)
        for number in range(attack.size(20, 2))
        for form in _FORMS
        for query in queries
    ]
    with _unread(attack, heads):
        _large(attack, attack.size(60, 5), attack.size(1_000_000, 200_000))
        time.sleep(_PAUSE)


def lists_that_nobody_reads(attack: Attack) -> None:
    """List many objects on many connections, in every form, without reading the answers."""
    with _unread(attack, [_get(KEPT, form) for form in _FORMS for _ in range(attack.size(30, 2))]):
        time.sleep(_PAUSE)


def lists_of_clients_that_leave(attack: Attack) -> None:
    """Ask for large lists and close the connection at once."""
    for form in _FORMS:
        for path in (KEPT, f"{ALL}?resourceVersion=0", f"{ALL}?labelSelector=number!=1", f"{ALL}?limit=2999"):
            for _ in range(attack.size(10, 2)):
                with _unread(attack, [_get(path, form)]):
                    pass


def large_objects(attack: Attack) -> None:
    """Store many objects of 1 MB, and list them in every form, whole and in pages, from several clients."""
    _large(attack, attack.size(100, 5), attack.size(1_000_000, 200_000))
    calls = [partial(attack.ask, "GET", path, headers={"Accept": form}) for form in _FORMS for path in (ATTACKED, f"{ATTACKED}?limit=10")]
    attack.together(calls, 4)


def objects_above_the_limit(attack: Attack) -> None:
    """Create and update objects around the store's maximum size."""
    for length in (1_000_000, 1_400_000, 1_572_000, 1_573_000, 2_500_000, 3_100_000, 3_200_000, 20_000_000):
        if length <= attack.size(length, 3_200_000):
            attack.ask("POST", ATTACKED, widget(f"sized-{length}", payload="x" * length))
            attack.ask("PUT", f"{ATTACKED}/sized-1000000", widget("sized-1000000", any={"list": [0.1] * (length // 4)}))


def many_small_objects(attack: Attack) -> None:
    """Create and delete many small objects with many labels each."""
    count = attack.size(3_000, 100)
    labels = {f"label-{number}": "v" for number in range(60)}
    attack.together([partial(attack.ask, "POST", ATTACKED, widget(f"small-{number}", labels=labels)) for number in range(count)])
    for path in (ATTACKED, f"{ATTACKED}?labelSelector=label-1=v,label-2!=w", f"{ATTACKED}?limit=1"):
        attack.ask("GET", path)


INPUTS: Final = (
    watchers_that_never_read,
    lists_that_nobody_reads,
    lists_of_clients_that_leave,
    large_objects,
    objects_above_the_limit,
    many_small_objects,
)
