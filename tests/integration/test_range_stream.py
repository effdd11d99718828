"""Tests that a server fills its caches by streams of etcd."""

from pathlib import Path
from typing import Final

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import Client

WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
STREAMED: Final = 'etcd_request_duration_seconds_count{group="example.com",operation="listStream",resource="widgets"} 1'


def test_first_list(etcd: Etcd, tmp_path: Path) -> None:
    """List everything after a restart, and count the stream."""
    with ApiextServer(tmp_path, etcd_url=etcd.url, etcd_prefix=f"/{tmp_path.name}") as server, Client(server) as client:
        client.define(widget_crd())
        for number in range(20):
            client.must("POST", WIDGETS, widget(f"w{number:02}"))
        before = client.must("GET", WIDGETS)
        client.close()
        server.restart()
        after = client.must("GET", WIDGETS)
        metrics = client.ask("GET", "/metrics").body.decode()

    assert after["items"] == before["items"]
    assert STREAMED in metrics
