"""Tests of two replicas over an etcd that loses its majority or all members."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import EtcdCluster
from hack.lib.waiting import until
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import MERGE_PATCH, Client
from tests.support.clients.informer import Informer
from tests.support.clients.writers import Writer, assert_kept, writing

WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
ALLOTTED: Final = "Timeout: request did not complete within the allotted timeout"


class House:
    """The members of etcd and two servers over them."""

    def __init__(self, folder: Path) -> None:
        self.etcd = EtcdCluster(folder / "etcd", durable=False)
        self.servers = [ApiextServer(folder / name, etcd_url=self.etcd.url) for name in ("one", "two")]

    def wait(self, *, ready: bool) -> None:
        """Wait until both servers are ready, or not: each answers that it is not only after seconds."""
        with ThreadPoolExecutor(len(self.servers)) as threads:
            list(threads.map(lambda server: until(lambda: (server.request("GET", "/readyz")[0] == 200) is ready), self.servers))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Start etcd and the servers, with the definition of widgets."""
    house = House(tmp_path)
    with ExitStack() as stack:
        for part in (house.etcd, *house.servers):
            stack.enter_context(part)  # type: ignore[arg-type]
        with Client(house.servers[0]) as client:
            client.define(widget_crd())
        with Client(house.servers[1]) as client:
            client.until_established("widgets.example.com")
        yield house


def _widget(name: str) -> dict[str, Any]:
    return widget(name, replicas=1)


def _assert_whole(house: House, writers: list[Writer], informers: list[Informer]) -> None:
    """Assert that the objects equal the acknowledged writes on both servers, and that informers got them."""
    for server, informer in zip(house.servers, informers, strict=True):
        with Client(server) as client:
            items = client.must("GET", WIDGETS)["items"]
        assert_kept(writers, [item for item in items if item["metadata"]["name"] not in {"before", "refused"}])
        informer.wait_equal(items)
        assert informer.missed([revision for writer in writers for revision in writer.revisions]) == []
        assert informer.lists == 1


def _assert_refusals(server: ApiextServer, informer: Informer) -> None:
    """Assert that writes and reads of etcd end with a Status, that cached reads succeed, and that /readyz fails."""
    with Client(server) as client, Client(server) as other, ThreadPoolExecutor(1) as thread:
        # it takes seconds without etcd
        metrics = thread.submit(other.ask, "GET", "/metrics")
        for method, path, body in [
            ("POST", WIDGETS, _widget("refused")),
            ("PATCH", f"{WIDGETS}/before", {"spec": {"replicas": 2}}),
            ("DELETE", f"{WIDGETS}/before", None),
            ("GET", f"{WIDGETS}/before", None),
            ("GET", WIDGETS, None),
        ]:
            reply = client.ask(method, f"{path}?timeout=200ms", body, MERGE_PATCH if method == "PATCH" else None)
            assert (reply.status, reply.json["message"]) == (504, ALLOTTED)
        present = client.must("GET", f"{WIDGETS}?resourceVersion=0")["items"]
        assert {item["metadata"]["name"]: item for item in present} == informer.items
        assert client.ask("GET", f"{WIDGETS}/before?resourceVersion=0").status == 200
        with client.watch(WIDGETS, timeoutSeconds=1) as events:
            (event,) = list(events)
        assert (event["type"], event["object"]["message"]) == ("ERROR", "context deadline exceeded")
        for path in ("/readyz", "/livez", "/healthz"):
            assert client.ask("GET", f"{path}?exclude=etcd&exclude=etcd-readiness").status == 200
        assert client.ask("GET", "/livez/etcd").body == b"internal server error: error getting data from etcd: context deadline exceeded\n"
        assert b'apiserver_resource_objects{group="example.com",resource="widgets"}' in metrics.result().body


@pytest.mark.slow
@pytest.mark.parametrize("lost", [2, 3], ids=["majority", "all"])
def test_recovers_lost_members(house: House, lost: int) -> None:
    """Answer every request while etcd loses members under writes, and lose no acknowledged write."""
    first, second = house.servers
    with Client(first) as client:
        client.must("POST", WIDGETS, _widget("before"))
    with Informer(first, WIDGETS) as informer, Informer(second, WIDGETS) as other:
        with writing(first, WIDGETS, count=2) as writers, writing(second, WIDGETS, count=2, label="s") as more:
            writers[0].wait(10)
            for member in house.etcd.members[:lost]:
                member.kill()
            house.wait(ready=False)
            _assert_refusals(first, informer)
            house.etcd.start()
            house.wait(ready=True)
            writers[0].wait(10)
            more[0].wait(10)
        _assert_whole(house, [*writers, *more], [informer, other])
