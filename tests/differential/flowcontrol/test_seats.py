"""The seats that both servers estimate for requests, by what is stored and watched; they have as many seats in all."""

import json
import re
import ssl
from base64 import b64decode
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import gateway
from hack.lib.servers.tls_connection import client_context
from hack.lib.waiting import until
from tests.differential.helpers.wire import Raw, request, send
from tests.support.builders.crds import widget, widget_crd

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

GROUP: Final = "seats.example.com"
ALL: Final = f"/apis/{GROUP}/v1/widgets"
BASE: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
EXACT: Final = f"{BASE}?resourceVersion=1&resourceVersionMatch=Exact"
STAGES: Final = (10, 1000, 3000)
PREFIXES: Final = ("/registry", "/apiext-seats")
"""Of the keys of the reference and of apiext."""
_BATCH: Final = 50
"""Objects that are stored at once."""
_LEVEL: Final = "global-default"
_ESTIMATES: Final = re.compile(
    rf'^apiserver_flowcontrol_work_estimated_seats_sum{{[^}}]*flow_schema="{_LEVEL}"[^}}]*}} (\S+)$', re.MULTILINE
)
_TABLE: Final = "application/json;as=Table;g=meta.k8s.io;v=v1"
_METADATA: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
READS: Final[dict[str, tuple[int, ...]]] = {
    f"{BASE}/a-1": (1, 1, 1),
    BASE: (1, 5, 8),
    ALL: (1, 5, 8),
    f"{BASE}?limit=500": (1, 3, 3),
    f"{BASE}?limit=20": (1, 1, 1),
    f"{BASE}?limit=500&resourceVersion=0": (1, 3, 3),
    f"{BASE}?limit=x": (8, 8, 8),
    f"{BASE}?labelSelector=a%3Db": (1, 5, 8),
    f"{BASE}?labelSelector=a%3Db&limit=20": (1, 1, 1),
    f"{BASE}?fieldSelector=metadata.name%3Da-1": (1, 1, 1),
    f"{BASE}?resourceVersion=0": (1, 5, 8),
    f"{BASE}?resourceVersion=1&resourceVersionMatch=NotOlderThan": (1, 5, 8),
    EXACT: (1, 5, 8),
    f"{BASE}?continue=x": (1, 5, 8),
    f"{BASE}?timeoutSeconds=1&watch=1": (1, 5, 8),
    f"{BASE}?timeoutSeconds=1&watch=1&resourceVersion=0": (1, 5, 8),
    f"{BASE}?timeoutSeconds=1&watch=1&resourceVersion=1": (1, 1, 1),
    f"{BASE}?timeoutSeconds=1&watch=1&resourceVersion=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan": (1, 5, 8),
    f"/apis/{GROUP}/v1/nothing": (1, 1, 1),
}
"""Reads, and their seats with each number of stored objects."""
_DRY: Final = "dryRun=All"
WRITES: Final = (
    ("POST", f"{BASE}?{_DRY}"),
    *((method, f"{BASE}/a-1?{_DRY}") for method in ("PUT", "PATCH", "DELETE")),
    ("DELETE", f"{BASE}?{_DRY}"),
)
WATCHES: Final = {0: (1, 1, 1, 1, 1), 10: (1, 1, 1, 1, 1), 20: (2, 2, 2, 2, 1), 100: (8, 8, 8, 8, 1)}
"""The seats of each write, with each number of watches."""
Sides = tuple[Side, ssl.SSLContext]
Secured = tuple[Pair, list[Sides], str]
"""Both servers, and the etcd that they share."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """Start both servers with an ordinary user and the reference's number of seats, of which apiext has fewer by default."""
    folder = tmp_path_factory.mktemp("seats")
    tokens = folder / "tokens.csv"
    tokens.write_text("ann,ann,1\n")
    flags = [f"--token-auth-file={tokens}", "--max-requests-inflight=400", "--max-mutating-requests-inflight=200"]
    with (
        ControlPlane(folder / "reference", durable=False, extra_args=[*flags, "--etcd-count-metric-poll-period=1s"]) as plane,
        BareServer(folder, etcd_url=plane.etcd_url, etcd_prefix=PREFIXES[1], extra_args=flags) as server,
    ):
        both = Pair(plane, server)
        contexts = client_context(plane.ca), server.ssl_context(credentials=False)
        with both.served(widget_crd(group=GROUP)):
            yield both, list(zip((both.reference, both.ours), contexts, strict=True)), plane.etcd_url
            for prefix in PREFIXES:
                first = f"{prefix}/{GROUP}/widgets/"
                gateway(plane.etcd_url, "kv/deleterange", key=first.encode(), range_end=f"{first}~".encode())
        both.close()


def _seats(side: Side, context: ssl.SSLContext, method: str, path: str, accept: str = "*/*") -> int:
    """Return the seats of a request of the ordinary user, which are estimated before it is authorized."""
    before = _estimated(side)
    raw: Raw = request(method, path, [("Authorization", "Bearer ann"), ("Accept", accept)])
    with send(side, raw.data, context) as connection:
        while connection.recv(1 << 16):
            pass
    return _estimated(side) - before


def _estimated(side: Side) -> int:
    return sum(int(float(total)) for total in _ESTIMATES.findall(side.raw(Step("GET", "/metrics"))[1].decode()))


def test_reads(secured: Secured) -> None:
    """Estimate reads alike with few and many stored objects."""
    both, sides, etcd_url = secured
    stored = 0
    for stage, number in enumerate(STAGES):
        wanted = {path: seats[stage] for path, seats in READS.items()}
        _store(etcd_url, (side for side, _ in sides), range(stored, number))
        for side, context in sides:
            until(partial(_estimates, side, context, EXACT, wanted[EXACT]))
            assert {path: _seats(side, context, "GET", path) for path in READS} == wanted
            for accept in (_TABLE, _METADATA):
                assert _seats(side, context, "GET", BASE, accept) == wanted[BASE]
        both.compared += len(READS) + 2
        stored = number


def _store(etcd_url: str, sides: Iterable[Side], numbers: range) -> None:
    """Let both servers create the first object, and store copies: thousands of requests would take half a minute of processor time."""
    keys = [f"{prefix}/{GROUP}/widgets/default/a-" for prefix in PREFIXES]
    if not numbers[0]:
        for side in sides:
            assert side.raw(Step("POST", BASE, widget("a-0", group=GROUP)))[0].status == 201
    first = {key: b64decode(gateway(etcd_url, "kv/range", key=f"{key}0".encode())["kvs"][0]["value"]) for key in keys}
    for start in range(0, len(numbers), _BATCH):
        puts = [
            {"request_put": {"key": f"{key}{number}".encode(), "value": value.replace(b'"a-0"', b'"a-%d"' % number)}}
            for number in numbers[start : start + _BATCH]
            for key, value in first.items()
        ]
        gateway(etcd_url, "kv/txn", success=puts)


def _estimates(side: Side, context: ssl.SSLContext, path: str, seats: int) -> bool:
    """Report whether a read has these seats: the reference counts objects every second."""
    return _seats(side, context, "GET", path) == seats


def test_writes(secured: Secured) -> None:
    """Estimate writes alike with no, few and many watches."""
    both, sides, _ = secured
    with ExitStack() as stack:
        opened = 0
        for watches, wanted in WATCHES.items():
            for side, _ in sides:
                for _ in range(opened, watches):
                    _watch(stack, side)
            opened = watches
            found = [tuple(_seats(side, context, method, path) for method, path in WRITES) for side, context in sides]
            assert found == [wanted, wanted]
            both.compared += len(WRITES)


def _watch(stack: ExitStack, side: Side) -> None:
    """Open a watch until the stack ends."""
    revision = json.loads(side.raw(Step("GET", f"{BASE}?limit=1"))[1])["metadata"]["resourceVersion"]
    connection = stack.enter_context(send(side, request("GET", f"{BASE}?watch=1&resourceVersion={revision}").data))
    assert connection.recv(1 << 12).startswith(b"HTTP/1.1 200")
