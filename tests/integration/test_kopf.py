"""Tests of a kopf operator with the real server as its cluster."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.process import Process, environment
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import Client
from tests.support.clients.widget_operator import GROUP

ROOT: Final = Path(__file__).resolve().parents[2]
WIDGETS: Final = f"/apis/{GROUP}/v1/namespaces/default/widgets"
EVENTS: Final = "/api/v1/namespaces/default/events"
FINALIZER: Final = "kopf.zalando.org/KopfFinalizerMarker"


@pytest.fixture
def operator(server: ApiextServer, tmp_path: Path) -> Iterator[Process]:
    """Return `kopf run` of the operator of tests/support, which is not started yet."""
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--all-namespaces", "-m", "tests.support.clients.widget_operator"]
    process = Process(command, tmp_path / "operator.log", environment(KUBECONFIG=str(server.kubeconfig), PYTHONPATH=str(ROOT)))
    yield process
    process.kill()


@pytest.fixture(scope="module")
def defined(server: ApiextServer) -> None:
    """Create the operator's definition, with a status of any shape."""
    crd = widget_crd(group=GROUP)
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
    }
    with Client(server) as admin:
        admin.define(crd)


def _widget(name: str) -> dict[str, Any]:
    return widget(name, group=GROUP, replicas=1)


def _status(**expected: Any) -> Any:
    return lambda obj: expected.items() <= obj.get("status", {}).items()


@pytest.mark.usefixtures("defined")
def test_life(client: Client, operator: Process) -> None:
    """Run the handlers of creation, change and deletion once each; keep the object until its finalizer is removed; post events."""
    operator.start()
    client.must("POST", WIDGETS, _widget("one"))
    built = client.until(WIDGETS, "one", _status(created=1))
    assert built["metadata"]["finalizers"] == [FINALIZER]

    client.merge(f"{WIDGETS}/one", {"spec": {"replicas": 2}})
    client.until(WIDGETS, "one", _status(created=1, updated="1 to 2"))
    going = client.must("DELETE", f"{WIDGETS}/one")
    assert going["metadata"]["deletionTimestamp"]
    client.until_gone(WIDGETS, "one")

    for reason in ("Built", "Removed"):
        posted = client.until_any(EVENTS, f"involvedObject.name=one,reason={reason}")
        assert posted["involvedObject"]["uid"] == built["metadata"]["uid"]
    assert "Traceback" not in operator.log.read_text()


@pytest.mark.usefixtures("defined")
def test_resume(client: Client, operator: Process) -> None:
    """Let a restarted operator find its objects and the changes since it stopped."""
    operator.start()
    for name in ("same", "changed"):
        client.must("POST", WIDGETS, _widget(name))
        client.until(WIDGETS, name, _status(created=1))
    operator.stop()
    before = client.must("GET", f"{WIDGETS}/same")["status"].get("resumed", 0)
    client.merge(f"{WIDGETS}/changed", {"spec": {"replicas": 5}})

    operator.start()
    client.until(WIDGETS, "same", _status(resumed=before + 1, created=1))
    client.until(WIDGETS, "changed", _status(updated="1 to 5"))
    for name in ("same", "changed"):
        client.must("DELETE", f"{WIDGETS}/{name}")
        client.until_gone(WIDGETS, name)


@pytest.mark.usefixtures("defined")
def test_a_definition_created_later(client: Client, operator: Process) -> None:
    """Let a running operator notice a new definition for which it has handlers."""
    operator.start()
    client.must("POST", WIDGETS, _widget("first"))
    client.until(WIDGETS, "first", _status(created=1))

    client.define(widget_crd("latecomers", "Latecomer", group=GROUP))
    late = f"/apis/{GROUP}/v1/namespaces/default/latecomers"
    client.must("POST", late, _widget("a") | {"kind": "Latecomer"})
    client.until(late, "a", _status(replicas=7))
    client.must("DELETE", f"{WIDGETS}/first")
    client.until_gone(WIDGETS, "first")
