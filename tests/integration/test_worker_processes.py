"""The processes for heavy work of a running server: they are there before they are needed, and what stops them stops no write."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.definitions import definition
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.resources import process_tree
from hack.lib.waiting import until

GROUP: Final = "heavy.example.com"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
TEMPLATE: Final = "apiext-template"
WORKER: Final = "apiext-worker"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiextServer]:
    """Start a server with a definition, and wait until its processes for heavy work are there."""
    with ApiextServer(tmp_path) as started:
        assert create(started, CRDS, crd("things")) == 201
        until(lambda: set(processes(started)) == {TEMPLATE, WORKER}, "processes for heavy work")
        until(lambda: started.request("GET", THINGS)[0] == 200, "the definition")
        yield started


def crd(plural: str, fields: int = 1) -> dict[str, Any]:
    """Return a definition; with 500 fields it is too large for the event loop."""
    described = {"type": "string", "description": "d" * 200, "maxLength": 9}
    properties = {f"field{number}": described for number in range(fields)}
    rule = {"rule": "self.field0.matches('^[a-z]+$')"}
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": [rule]}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    kind = plural.removesuffix("s").capitalize()
    return definition(GROUP, plural, kind, {"name": "v1", "served": True, "storage": True, "schema": schema})


def thing(name: str) -> dict[str, Any]:
    """Return an object."""
    return {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"field0": "abc"}}


def create(server: ApiextServer, path: str, obj: dict[str, Any]) -> int:
    """Create an object, and return the status."""
    return server.request("POST", path, json.dumps(obj), headers={"Content-Type": "application/json"}, timeout=120)[0]


def processes(server: ApiextServer) -> dict[str, int]:
    """Return a living process of the server besides itself for each name."""
    return dict(living(server))


def living(server: ApiextServer) -> list[tuple[str, int]]:
    """Return the names and ids of all living processes of the server besides itself; the names are set by each itself."""
    found = []
    for pid in process_tree(server.pid)[1:]:
        try:
            state = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        if state.rpartition(") ")[2][0] != "Z":
            found.append((state.partition("(")[2].rpartition(")")[0], pid))
    return found


def descriptors(pid: int) -> set[str]:
    """Return the files, pipes and sockets of a process, without the standard ones."""
    links = {str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir() if int(path.name) > 2}
    return {link for link in links - {os.devnull} if not link.startswith("anon_inode:")}


def gone(pid: int) -> bool:
    """Return whether a process has ended."""
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("name", [TEMPLATE, WORKER])
def test_a_killed_process_is_replaced_without_a_request(server: ApiextServer, name: str) -> None:
    """Start another process as soon as one is killed. Large writes go on."""
    killed = processes(server)[name]
    os.kill(killed, signal.SIGKILL)

    until(lambda: gone(killed) and name in processes(server), "another process")
    assert create(server, CRDS, crd("larges", 500)) == 201


@pytest.mark.parametrize("names", [(WORKER,), (TEMPLATE,), (TEMPLATE, WORKER)])
def test_writes_succeed_while_processes_are_stopped(server: ApiextServer, names: tuple[str, ...]) -> None:
    """Write small and medium objects though no process takes a job, or none starts."""
    for name, pid in living(server):
        if name in names:
            os.kill(pid, signal.SIGSTOP)

    assert create(server, THINGS, thing("one")) == 201
    assert [create(server, CRDS, crd(f"large{number}s", 500)) for number in range(3)] == [201] * 3
    assert create(server, THINGS, thing("two")) == 201


def test_a_write_does_not_wait_for_a_start(server: ApiextServer) -> None:
    """Write a medium object in the server while no process is there, and none can start."""
    os.kill(processes(server)[TEMPLATE], signal.SIGSTOP)
    killed = {pid for name, pid in living(server) if name == WORKER}
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    until(lambda: killed.isdisjoint(pid for _, pid in living(server)), "the end of the processes")

    assert create(server, CRDS, crd("larges", 500)) == 201


def test_processes_hold_nothing_of_the_server(server: ApiextServer) -> None:
    """Share no descriptor with the server but the standard ones, so that its port and its store are free once it has ended."""

    def share_nothing() -> bool:
        held = descriptors(server.pid)
        return all(descriptors(pid).isdisjoint(held) for _, pid in living(server))

    # while a process starts, the server hands its end of their connection over
    until(share_nothing, "processes without the server's descriptors")


def test_processes_end_with_a_killed_server(server: ApiextServer) -> None:
    """End all processes when the server is killed."""
    pids = [pid for _, pid in living(server)]
    server.process.kill()

    until(lambda: all(map(gone, pids)), "the end of all processes")
