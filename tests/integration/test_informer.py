"""Tests that an informer over HTTP ends with the stored objects."""

from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.crds import widget_crd
from tests.support.clients.client import Client
from tests.support.clients.informer import Informer
from tests.support.clients.writers import assert_kept, writing

WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"


@pytest.mark.parametrize(
    "writes",
    [
        pytest.param(60, marks=pytest.mark.sample, id="few"),
        pytest.param(
            1000, marks=[pytest.mark.slow, pytest.mark.long("apiext/storage", "apiext/api/endpoints"), pytest.mark.timeout(300)], id="many"
        ),
    ],
)
def test_equivalence(own_server: ApiextServer, writes: int) -> None:
    """Equal a fresh list after random writes of several clients, before and after a graceful restart."""
    with Client(own_server) as client:
        client.define(widget_crd())
        with Informer(own_server, WIDGETS) as informer:
            with writing(own_server, WIDGETS) as before:
                before[0].wait(writes)
                own_server.restart()
            client.close()
            with writing(own_server, WIDGETS, label="x") as after, Informer(own_server, WIDGETS) as late:
                after[0].wait(writes)

            items = client.must("GET", WIDGETS)["items"]
            assert_kept([*before, *after], items)
            informer.wait_equal(items)
            assert late.items
            assert informer.revisions == sorted(set(informer.revisions))
            assert informer.missed([revision for writer in [*before, *after] for revision in writer.revisions]) == []
