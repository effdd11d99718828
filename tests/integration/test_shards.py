"""Tests that informers share a collection by the hash of the uid (feature gate ShardedListAndWatch)."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from apiext.base.meta.objectmeta.sharding import shard_hash
from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import Client

WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
PROTOBUF: Final = {"Accept": "application/vnd.kubernetes.protobuf"}
BOUNDS: Final = tuple(pairwise(2**64 * number // 4 for number in range(5)))
SHARDS: Final = [f"shardRange(object.metadata.uid, '0x{first:016x}', '0x{end:016x}')" for first, end in BOUNDS]


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    """Yield a client of a server with the gate."""
    with ApiextServer(tmp_path, extra_args=["--feature-gates=ShardedListAndWatch=true"]) as server, Client(server) as client:
        client.define(widget_crd())
        yield client


def _shard_of(obj: dict[str, Any]) -> int:
    hashed = shard_hash(obj["metadata"]["uid"])
    return next(place for place, (first, end) in enumerate(BOUNDS) if first <= hashed < end)


def test_informers_share_a_collection(client: Client) -> None:
    """List each object for one of four informers, and send its events to that one only."""
    created = [client.must("POST", WIDGETS, widget(f"w{number}")) for number in range(20)]
    lists = [client.must("GET", f"{WIDGETS}?shardSelector={quote(shard)}") for shard in SHARDS]
    for place, listed in enumerate(lists):
        assert {item["metadata"]["name"] for item in listed["items"]} == {
            one["metadata"]["name"] for one in created if _shard_of(one) == place
        }
        assert "shardInfo" not in listed["metadata"]

    with ExitStack() as stack:
        watches = [
            stack.enter_context(client.watch(WIDGETS, shardSelector=quote(shard), resourceVersion=listed["metadata"]["resourceVersion"]))
            for shard, listed in zip(SHARDS, lists, strict=True)
        ]
        expected: list[list[tuple[str, str]]] = [[] for _ in SHARDS]
        for obj in [*created, *(client.must("POST", WIDGETS, widget(f"new{number}")) for number in range(12))]:
            name = obj["metadata"]["name"]
            client.must("DELETE", f"{WIDGETS}/{name}")
            kinds = ("ADDED", "DELETED") if name.startswith("new") else ("DELETED",)
            expected[_shard_of(obj)] += [(kind, name) for kind in kinds]
        for watch, events in zip(watches, expected, strict=True):
            seen = [(event["type"], event["object"]["metadata"]["name"]) for event in watch.take(len(events))]
            assert sorted(seen) == sorted(events)


def test_shows_the_shard_of_built_in_kinds(client: Client) -> None:
    """Repeat the selector in the metadata of a list of a built-in kind, in JSON and in Protobuf."""
    path = f"{CONFIG_MAPS}?shardSelector={quote(SHARDS[0].replace(' ', ''))}"

    assert client.must("GET", path)["metadata"]["shardInfo"] == {"selector": SHARDS[0]}
    assert SHARDS[0].encode() in client.ask("GET", path, headers=PROTOBUF).body
    assert client.ask("GET", f"{CONFIG_MAPS}?shardSelector=x").status == 500
