"""Several worker processes behind one port (`--workers`), on a real etcd: they must look like one server."""

import http.client
import json
import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.base.workers.harmless_signals import HARMLESS
from hack.lib.definitions import definition
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.certificates import Authority
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.resources import process_tree
from hack.lib.servers.tls_connection import client_context
from hack.lib.waiting import until
from tests.support.clients.client import GONE, Client
from tests.support.clients.informer import Informer

GROUP: Final = "workers.example.com"
COLLECTION: Final = f"/apis/{GROUP}/v1/namespaces/default/things"
NAMESPACES: Final = "/api/v1/namespaces"
_CONNECTIONS: Final = "apiext_server_worker_connections"
_PACE: Final = 0.002
"""Seconds between the requests of a writer."""


def _crd(plural: str = "things") -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    kind = plural.removesuffix("s").capitalize()
    return definition(GROUP, plural, kind, {"name": "v1", "served": True, "storage": True, "schema": schema})


def _server(folder: Path, etcd: Etcd, *flags: str, workers: int = 2) -> ApiextServer:
    return ApiextServer(folder, etcd_url=etcd.url, etcd_prefix=f"/{uuid.uuid4().hex}", extra_args=[f"--workers={workers}", *flags])


@pytest.fixture(scope="module")
def server(etcd: Etcd, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiextServer]:
    """Start a server of two workers, which tests may replace."""
    with _server(tmp_path_factory.mktemp("workers"), etcd) as started:
        with Client(started) as client:
            client.define(_crd())
        yield started


def _workers(server: ApiextServer) -> list[int]:
    """Return the processes of the workers; heavy jobs have none here."""
    return process_tree(server.pid)[1:3]


def _value(server: ApiextServer, name: str, **labels: str) -> float:
    """Return the sum of the samples of a metric with some labels."""
    status, _, body = server.request("GET", "/metrics")
    assert status == 200
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    lines = [line for line in body.decode().splitlines() if line.partition(" ")[0].partition("{")[0] == name]
    return sum(float(line.rpartition(" ")[2]) for line in lines if all(one in line for one in wanted))


class _Writer(threading.Thread):
    """Creates objects until it is stopped, over one connection that it reopens."""

    def __init__(self, server: ApiextServer, name: str) -> None:
        super().__init__(daemon=True)
        self.acknowledged: list[str] = []
        self.problems: list[Any] = []
        self._server = server
        self._name = name
        self._ended = threading.Event()

    def run(self) -> None:
        """Write. What is not acknowledged is written under the next name."""
        with Client(self._server) as client:
            number = 0
            while not self._ended.wait(_PACE):
                number += 1
                name = f"{self._name}-{number}"
                with suppress(*GONE):
                    reply = client.ask("POST", COLLECTION, {"apiVersion": f"{GROUP}/v1", "kind": "Thing", "metadata": {"name": name}})
                    if reply.status == 201:
                        self.acknowledged.append(name)
                    else:
                        self.problems.append((reply.status, reply.body[:200]))

    def stop(self) -> None:
        """End the thread."""
        self._ended.set()
        self.join(60)
        assert not self.is_alive()


def test_signals_that_end_nothing(server: ApiextServer) -> None:
    """Go on, with the same workers, after signals that the reference ignores, to the first process and to each worker."""
    before = process_tree(server.pid)[:3]
    for pid in before:
        for number in HARMLESS:
            os.kill(pid, number)

    assert [server.request("GET", NAMESPACES)[0] for _ in range(4)] == [200] * 4
    assert process_tree(server.pid)[:3] == before
    assert "shutting down" not in server.log


def test_a_killed_worker_is_replaced(server: ApiextServer) -> None:
    """Lose no acknowledged write when a worker is killed, let watches go on or resume without a list, and replace the worker."""
    requests = _value(server, "apiserver_request_total")
    with ExitStack() as stack:
        informers = [stack.enter_context(Informer(server, COLLECTION)) for _ in range(4)]
        writers = [_Writer(server, f"writer{number}") for number in range(4)]
        for writer in writers:
            writer.start()
        until(lambda: all(len(writer.acknowledged) > 20 for writer in writers), "the writes before the kill")
        before = _workers(server)
        counted = _value(server, "apiserver_request_total")
        replaced = _value(server, "apiext_server_workers_replaced_total")

        os.kill(before[0], signal.SIGKILL)

        until(lambda: before[0] not in _workers(server) and len(_workers(server)) == 2 and server.ready(), "the replacement")
        marks = [len(writer.acknowledged) for writer in writers]
        until(lambda: all(len(writer.acknowledged) > mark + 20 for writer, mark in zip(writers, marks, strict=True)), "later writes")
        for writer in writers:
            writer.stop()
        with Client(server) as client:
            stored = client.must("GET", COLLECTION)["items"]
        for informer in informers:
            informer.wait_equal(stored, timeout=120)

    names = {item["metadata"]["name"] for item in stored}
    assert [name for writer in writers for name in writer.acknowledged if name not in names] == []
    assert [writer.problems for writer in writers] == [[]] * 4
    assert [informer.lists for informer in informers] == [1] * 4
    assert before[1] in _workers(server)
    assert _value(server, "apiext_server_workers_replaced_total") == replaced + 1
    # counters do not fall with the end of a worker
    assert requests < counted <= _value(server, "apiserver_request_total")


def test_one_scrape_shows_all_workers(server: ApiextServer) -> None:
    """Count the requests of all workers in a scrape of any; reset them in all; sum the seats to those of one process."""
    verbs = {"verb": "GET", "resource": "namespaces"}
    until(lambda: _value(server, _CONNECTIONS) <= 2, "the end of former connections")
    with ExitStack() as stack:
        # they are open at the same time, so each worker has some
        clients = [stack.enter_context(Client(server)) for _ in range(4)]
        for client in clients:
            client.must("GET", f"{NAMESPACES}/default")
        connections = [_value(server, _CONNECTIONS, worker=str(number)) for number in (1, 2)]
        before = _value(server, "apiserver_request_total", **verbs)
        for client in clients:
            client.must("GET", f"{NAMESPACES}/default")
        until(lambda: _value(server, "apiserver_request_total", **verbs) == before + 4, "the sum")
        scrapes = {_value(server, "apiserver_request_total", **verbs) for _ in range(4)}
        levels = server.request("GET", "/debug/api_priority_and_fairness/dump_priority_levels")[2].decode()

    assert min(connections) >= 1
    assert scrapes == {before + 4}
    assert _value(server, "apiserver_flowcontrol_nominal_limit_seats", priority_level="workload-low") == 62
    assert _value(server, "apiserver_flowcontrol_nominal_limit_seats", priority_level="global-default") == 13
    assert levels.count("global-default, ") == 1
    assert server.request("DELETE", "/metrics")[0] == 200
    until(lambda: _value(server, "apiserver_request_total", **verbs) == 0, "the reset")


def test_a_silent_worker_shows(server: ApiextServer) -> None:
    """Fail /readyz and /livez, and count a worker as missing in the metrics, while it does not answer; its counters remain."""
    stopped = _workers(server)[0]
    requests = _value(server, "apiserver_request_total")
    os.kill(stopped, signal.SIGSTOP)
    try:
        with Client(server) as client:
            # the supervisor gives connections to both: one that nobody answers is closed
            until(lambda: _is_answered(client), "a connection to the other worker")
            verbose = client.ask("GET", "/readyz?verbose").body.decode()
            live = client.ask("GET", "/livez?verbose").body.decode()
            text = client.ask("GET", "/metrics").body.decode()
    finally:
        os.kill(stopped, signal.SIGCONT)

    assert "[-]worker-" in verbose
    assert "[-]worker-" in live
    assert "\napiext_server_workers_missing 1.0\n" in text
    totals = [line for line in text.splitlines() if line.startswith("apiserver_request_total{")]
    assert sum(float(line.rpartition(" ")[2]) for line in totals) >= requests
    until(server.ready, "the end of the silence")
    until(lambda: _value(server, "apiext_server_workers_missing") == 0, "metrics of all workers")


def _is_answered(client: Client) -> bool:
    """Report whether a new connection is answered soon. It stays open, and later answers may take longer."""
    client.reconnect(5)
    answered = client.ask("GET", f"{NAMESPACES}/default").status == 200
    client.wait_for(60)
    return answered


def test_a_new_definition_is_served_by_all_workers(server: ApiextServer) -> None:
    """Serve a definition at once on connections to all workers when one has reported that it is established."""
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(server)) for _ in range(4)]
        for client in clients:
            client.must("GET", f"{NAMESPACES}/default")
        for number in range(10):
            plural = f"new{'x' * number}s"
            clients[0].define(_crd(plural))
            path = f"/apis/{GROUP}/v1/{plural}"
            assert [client.ask("GET", path).status for client in clients] == [200] * 4


def test_signals_reach_all_workers(etcd: Etcd, tmp_path: Path) -> None:
    """Answer the last request of each connection to each worker after SIGTERM, and end all at once with code 0 after a second one."""
    server = _server(tmp_path, etcd, "--shutdown-delay-duration=300s")
    with ExitStack() as stack:
        stack.enter_context(server)
        pids = process_tree(server.pid)
        clients = [stack.enter_context(Client(server)) for _ in range(4)]
        for client in clients:
            client.must("GET", NAMESPACES)
        watches = [stack.enter_context(client.watch(NAMESPACES)) for client in clients]

        server.process.signal(signal.SIGTERM)

        # until its worker knows, a connection goes on
        for client in clients:
            until(partial(_is_last_answer, client), "the last answer")
        assert [watch.take(1)[0]["type"] for watch in watches] == ["ADDED"] * 4
        server.process.signal(signal.SIGTERM)
        until(lambda: not server.process.running, "the end")

    assert server.process.code() == 0
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []


def _is_last_answer(client: Client) -> bool:
    return client.ask("GET", NAMESPACES).headers["Connection"] == "close"


def test_workers_end_with_their_supervisor(etcd: Etcd, tmp_path: Path) -> None:
    """End all workers when the supervisor is killed."""
    with _server(tmp_path, etcd) as server:
        pids = process_tree(server.pid)

        server.kill()

        until(lambda: not any(_runs(pid) for pid in pids), "the end of the workers")


def _runs(pid: int) -> bool:
    """Report whether a process has not ended. An ended one may wait for its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_limits_hold_over_all_workers(etcd: Etcd, tmp_path: Path) -> None:
    """Let as many requests run in all workers together as the limit says, and answer the others 429."""
    users = Authority(tmp_path / "users", "users")
    pair = users.issue("ann")
    flags = [f"--client-ca-file={users.cert}", "--enable-priority-and-fairness=false", "--max-mutating-requests-inflight=4"]
    with _server(tmp_path, etcd, *flags) as server, ExitStack() as stack:
        answers = []
        for number in range(8):
            context = client_context(server.ca, pair.cert, pair.key)
            connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=60, context=context)
            stack.callback(connection.close)
            answers.append(_begin_create(connection, f"limit-{number}"))

    assert sorted(answers) == [100] * 4 + [429] * 4


def _begin_create(connection: http.client.HTTPSConnection, name: str) -> int:
    """Send the head of a create request. Return the code of the first answer: 100 when the request runs and waits for its body."""
    connection.putrequest("POST", NAMESPACES)
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(json.dumps({"metadata": {"name": name}}))))
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    received = b""
    while not received.endswith(b"\r\n"):
        received += connection.sock.recv(1)
    return int(received.split()[1])


def test_workers_share_an_audit_log(etcd: Etcd, tmp_path: Path) -> None:
    """Write each event of each worker once, as a whole line, to a log that is rotated meanwhile."""
    policy, folder = tmp_path / "policy.yaml", tmp_path / "audit"
    policy.write_text("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: RequestResponse}]\n")
    flags = [f"--audit-policy-file={policy}", f"--audit-log-path={folder / 'audit.log'}", "--audit-log-maxsize=1"]
    large = "x" * 15_000
    with _server(tmp_path, etcd, *flags) as server, ExitStack() as stack:
        clients = [stack.enter_context(Client(server)) for _ in range(4)]
        for number in range(100):
            body = {"metadata": {"name": f"audited-{number}", "annotations": {"large": large}}}
            clients[number % 4].must("POST", NAMESPACES, body, {"Audit-ID": f"audited-{number}"})
    files = sorted(folder.iterdir())
    events = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    ended = [event["auditID"] for event in events if event["stage"] == "ResponseComplete" and event["verb"] == "create"]

    assert len(files) > 2
    assert sorted(name for name in ended if name.startswith("audited-")) == sorted(f"audited-{number}" for number in range(100))


def test_a_start_that_fails_says_why_once(etcd: Etcd, tmp_path: Path) -> None:
    """End with the reason of a single process if workers cannot start."""
    server = _server(tmp_path, etcd, f"--tracing-config-file={tmp_path / 'tracing.yaml'}")
    (tmp_path / "tracing.yaml").write_text("kind: Nothing\n")
    server.process.start()
    until(lambda: not server.process.running, "the end")

    assert server.process.code() == 1
    lines = [line for line in server.log.splitlines() if line.startswith("apiext: ")]
    assert len(lines) == 1
    assert "tracing" in lines[0]
