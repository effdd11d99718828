"""Both servers with a full disk: the audit log takes no events, and the etcd of both has reached its quota."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.caller import Answer, Caller
from hack.lib.servers.certificates import KeyPair
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.etcd import Etcd
from hack.lib.waiting import until
from tests.support.servers.full_etcd import fill

pytestmark = pytest.mark.slow

NAMESPACES: Final = "/api/v1/namespaces"
CONFIG_MAPS: Final = f"{NAMESPACES}/default/configmaps"
_POLICY: Final = """
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: Metadata
  namespaces: [default]
  resources: [{group: "", resources: [configmaps]}]
- level: None
"""
_QUOTA: Final = 24 * 1024 * 1024
_PIECE: Final = 1024 * 1024
_COUNTERS: Final = re.compile(r"^(apiserver_audit_(?:error|event|requests_rejected)_total\S*) (\S+)$", re.MULTILINE)


class Pair:
    """Both servers on one etcd, and the clients of both."""

    def __init__(self, etcd: Etcd, *callers: Caller) -> None:
        self.etcd = etcd
        self._callers = callers

    def answers(self, method: str, path: str, body: Any = None) -> list[Answer]:
        """Return the answers of both servers, without what differs between any two."""
        return [(code, masked(answer)) for code, answer in (caller.ask(method, path, body) for caller in self._callers)]

    def own(self, path: str) -> bytes:
        """Return the text that apiext answers."""
        return str(self._callers[-1].ask("GET", path)[1]).encode()

    def audit_counters(self) -> list[dict[str, float]]:
        """Return the counters of audit of both servers."""
        return [{name: float(value) for name, value in _COUNTERS.findall(caller.ask("GET", "/metrics")[1])} for caller in self._callers]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Start both servers, each with its keys in one etcd, and an audit log that is always full."""
    folder = tmp_path_factory.mktemp("full")
    policy = folder / "policy.yaml"
    policy.write_text(_POLICY)
    flags = [f"--audit-policy-file={policy}", "--audit-log-path=/dev/full", "--audit-log-mode=blocking-strict"]
    with (
        Etcd(folder / "etcd", durable=False, extra_args=(f"--quota-backend-bytes={_QUOTA}",)) as etcd,
        ControlPlane(folder / "reference", etcd_url=etcd.url, etcd_prefix="/reference", extra_args=flags) as plane,
        BareServer(folder / "apiext", etcd_url=etcd.url, etcd_prefix="/apiext", extra_args=flags) as server,
    ):
        yield Pair(etcd, plane.client, Caller(server.url, server.ca, KeyPair(server.client_cert, server.client_key)))


def test_log_on_a_full_disk(pair: Pair) -> None:
    """Refuse requests whose arrival cannot be recorded, serve the others, and count both."""
    requests = [
        ("GET", f"{CONFIG_MAPS}/a", None),
        ("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}),
        ("GET", f"{NAMESPACES}/default", None),
    ]
    answers = [pair.answers(*request) for request in requests]
    counters = pair.audit_counters()

    assert [theirs[0] for theirs, _ in answers] == [500, 500, 200]
    assert [ours for _, ours in answers[:2]] == [theirs for theirs, _ in answers[:2]]
    assert answers[2][1][0] == 200
    assert counters[0]['apiserver_audit_error_total{plugin="log"}'] == 2
    assert counters[0]["apiserver_audit_requests_rejected_total"] == 2
    assert counters[1] == counters[0]


def test_etcd_at_its_quota(pair: Pair) -> None:
    """Answer reads and writes as the reference, and name the alarm in etcd's metrics."""
    for name in ("old", "gone"):
        assert [code for code, _ in pair.answers("POST", NAMESPACES, {"metadata": {"name": name}})] == [201, 201]
    fill(pair.etcd, _PIECE)
    requests = [
        ("POST", NAMESPACES, {"metadata": {"name": "new"}}),
        ("PATCH", f"{NAMESPACES}/old", {"metadata": {"labels": {"a": "b"}}}),
        ("GET", f"{NAMESPACES}/new", None),
    ]
    answers = [pair.answers(*request) for request in requests]

    assert [ours for _, ours in answers] == [theirs for theirs, _ in answers]
    assert answers[0][0][0] == 500
    # both serve reads, and stay ready; apiext says what is wrong once it has asked etcd
    assert [code for code, _ in pair.answers("GET", "/readyz")] == [200, 200]
    until(lambda: b"[+]etcd-alarms ok: NOSPACE" in pair.own("/readyz?verbose"))
    assert b'apiext_etcd_alarms{alarm="NOSPACE"} 1.0' in pair.own("/metrics")
