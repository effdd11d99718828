"""Audit events of the host and of apiext about the same requests."""

import json
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from hack.lib.waiting import until
from tests.e2e.cluster import AUDITED, SERVED, Cluster

pytestmark = pytest.mark.slow


def _events(log: Path, user_agent: str) -> list[dict[str, Any]]:
    """Return the events of a log about the requests of a client."""
    found = [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return [event for event in found if event.get("userAgent") == user_agent]


def test_one_id(cluster: Cluster) -> None:
    """Both logs have the events of a request with one auditID and URI; each stage follows the one before."""
    agent = [("User-Agent", "audited/1")]
    for group in SERVED:
        cluster.host.must("GET", f"/apis/{group}/v1/namespaces/{AUDITED}/widgets", headers=agent)
    logs: list[list[dict[str, Any]]] = []

    def complete() -> bool:
        logs[:] = [_events(log, "audited/1") for log in cluster.audit_logs]
        return all(sum(event["stage"] == "ResponseComplete" for event in events) == len(SERVED) for events in logs)

    until(complete, "all events in both logs")
    members = ("auditID", "stage", "requestURI", "verb")
    # a client may ask again before the end of its first request is recorded
    host, own = (sorted((tuple(event[member] for member in members) for event in events), key=itemgetter(0)) for events in logs)

    assert host == own
    assert len({event[0] for event in host}) == len(SERVED)
