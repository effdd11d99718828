"""Tests of overload and deadlines: both servers with one request in flight, and requests that time out."""

import ssl
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Side
from tests.differential.helpers.secured_pair import BASE, Guarded, by, guarded, user
from tests.differential.helpers.wire import Raw, ask, read, send

pytestmark = pytest.mark.slow

FLAGS: Final = ("--max-requests-inflight=1", "--max-mutating-requests-inflight=1", "--enable-priority-and-fairness=false")
NEVER: Final = "?resourceVersion=99999999&resourceVersionMatch=NotOlderThan"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    """Start both servers with a limit of one reading and one writing request."""
    with guarded(tmp_path_factory.mktemp("overload"), *FLAGS) as both:
        yield both


def test_too_many_requests(servers: Guarded) -> None:
    """Refuse all but system:masters and watches while one reading and one writing request are in flight."""
    pair, contexts = servers.pair, servers.contexts
    # Reads first: the request that holds their slot times out after three seconds.
    crowd = [by("ann", "GET", BASE), by("ann", "GET", "/healthz"), by("", "GET", BASE), by("bob", "GET", BASE, user("ann"))]
    crowd += [by("ann", "POST", BASE), by("ann", "OPTIONS", BASE), by("ann", "DELETE", f"{BASE}/a"), by("root", "POST", BASE)]
    crowd += [by("root", "GET", f"{BASE}/a"), by("ann", "GET", f"{BASE}?watch=1&timeoutSeconds=1&resourceVersion=0")]
    answers = []
    for side, context in zip((pair.reference, pair.ours), contexts, strict=True):
        writing = by("root", "POST", BASE, ("Content-Type", "application/json"), ("Transfer-Encoding", "chunked"))
        with send(side, writing.data + b"1\r\n{\r\n", context), send(side, by("root", "GET", BASE + NEVER).data, context):
            for _ in range(100):
                if all(ask(side, raw, context)[1] == 429 for raw in (crowd[4], crowd[0])):
                    break
            answers.append([ask(side, raw, context) for raw in crowd])

    assert answers[0] == answers[1]
    assert [answer[1] for answer in answers[1]] == [429] * 7 + [400, 200, 200]


def _late(side: Side, raw: Raw, context: ssl.SSLContext) -> Any:
    """Return the answer to a request that times out. The reference's handler may be faster than its shortest timeout: ask again."""
    for _ in range(100):
        answer = ask(side, raw, context)
        if answer[1] == 504:
            return answer
    raise AssertionError(f"{raw.label} never times out at {side.url}")


def test_timeouts(servers: Guarded) -> None:
    """Answer a timed-out request with Go's own response for every media type, and keep the connection."""
    pair, contexts = servers.pair, servers.contexts
    raws = [
        by("root", method, f"{BASE}{NEVER}&timeout=300ms", ("Accept", accept))
        for method, accept in (("GET", "*/*"), ("GET", "application/yaml"))
    ]
    servers.check(raws)
    for rest in ("", "/a/unknown"):
        raw = by("root", "GET", f"{BASE}{rest}?timeout=1ns")
        theirs, ours = (_late(side, raw, context) for side, context in zip((pair.reference, pair.ours), contexts, strict=True))
        assert theirs == ours
    kept = Raw("kept", raws[0].data.replace(b"Connection: close\r\n", b""))
    for side, context in zip((pair.reference, pair.ours), contexts, strict=True):
        with send(side, kept.data, context) as connection:
            late = read(connection, kept)
            connection.sendall(by("root", "GET", f"{BASE}/a").data)
            assert (late[1], read(connection, kept)[1]) == (504, 200)
