"""Events of a server that keeps them for seconds."""

import uuid
from pathlib import Path
from typing import Any

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from tests.support.clients.client import Client

EVENTS = "/api/v1/namespaces/default/events"


@pytest.mark.parametrize("store", ["sqlite", "etcd"])
def test_expires_events_from_the_future(store: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Delete an event after --event-ttl whatever times and finalizers it has, and tell its watchers."""
    settings: dict[str, Any] = {}
    if store == "etcd":
        etcd: Etcd = request.getfixturevalue("etcd")
        settings = {"etcd_url": etcd.url, "etcd_prefix": f"/{uuid.uuid4().hex}"}
    with ApiextServer(tmp_path, extra_args=["--event-ttl=2s"], **settings) as server, Client(server) as client:
        event = client.must(
            "POST",
            EVENTS,
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": "future", "finalizers": ["example.com/held"]},
                "involvedObject": {"namespace": "default"},
                "firstTimestamp": "2999-01-01T00:00:00Z",
                "lastTimestamp": "2999-01-01T00:00:00Z",
            },
        )
        with client.watch(EVENTS, resourceVersion=event["metadata"]["resourceVersion"], timeoutSeconds=60) as events:
            deleted = next(iter(events))
        assert (deleted["type"], deleted["object"]["metadata"]["name"]) == ("DELETED", "future")
        assert client.ask("GET", f"{EVENTS}/future").status == 404
