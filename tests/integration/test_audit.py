"""Audit of a running server: what is buffered at its end, and events from worker processes."""

import json
from pathlib import Path
from typing import Any, Final

from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.kubeconfigs import write_kubeconfig
from tests.support.scripted_webhook import ScriptedWebhook, WebhookCall

NAMESPACES: Final = "/api/v1/namespaces"
_JSON: Final = {"Content-Type": "application/json"}
_POLICY: Final = (
    "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, users: ['system:anonymous']}, {level: RequestResponse}]\n"
)


def _by_id(events: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        found.setdefault(event["auditID"], []).append(event)
    return found


def test_events_of_a_server_that_ends(tmp_path: Path) -> None:
    """Store and send all events before a server ends, as JSON; count them; record large writes, which run in worker processes."""
    policy, log = tmp_path / "policy.yaml", tmp_path / "audit.log"
    policy.write_text(_POLICY)
    large = {"metadata": {"name": "large", "annotations": {"a": "x" * 100_000}}}
    with ScriptedWebhook(tmp_path, WebhookCall, lambda _call: {}, name="audit") as webhook:
        config = write_kubeconfig(
            tmp_path / "config", f"https://127.0.0.1:{webhook.port}/events", **{"certificate-authority-data": webhook.ca_bundle}
        )
        flags = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", f"--audit-webhook-config-file={config}"]
        with ApiextServer(tmp_path, extra_args=[*flags, "--audit-log-mode=batch"]) as server:
            for number in range(3):
                assert server.request("GET", NAMESPACES, headers={"Audit-ID": f"get-{number}"})[0] == 200
            assert server.request("POST", NAMESPACES, json.dumps(large), headers={**_JSON, "Audit-ID": "large"})[0] == 201
            assert server.request("GET", "/api/v1//namespaces", headers={"Audit-ID": "empty-segment"})[0] == 404
            odd = b'{"metadata":{"annotations":{"a":"\xff\\ud800"}}}'
            merge = {"Content-Type": "application/merge-patch+json", "Audit-ID": "not-utf-8"}
            assert server.request("PATCH", f"{NAMESPACES}/large", odd, headers=merge)[0] == 200
            metrics = server.request("GET", "/metrics", headers={"Audit-ID": "metrics"})[2].decode()
        assert all(call.path == "/events" for call in webhook.calls)
        sent = _by_id([event for call in webhook.calls for event in json.loads(call.body)["items"]])
    logged = _by_id([json.loads(line) for line in log.read_text().splitlines()])

    assert 'apiserver_audit_level_total{level="RequestResponse"} 7.0' in metrics
    assert sorted(logged) == sorted(sent) == ["empty-segment", "get-0", "get-1", "get-2", "large", "metrics", "not-utf-8"]
    for events in (logged, sent):
        assert events["empty-segment"][-1]["objectRef"] == {"name": "namespaces", "apiVersion": "v1"}
        assert events["not-utf-8"][-1]["requestObject"] == {"metadata": {"annotations": {"a": "\ufffd\ufffd"}}}
        assert [event["stage"] for event in events["large"]] == ["RequestReceived", "ResponseComplete"]
        last = events["large"][-1]
        assert last["objectRef"]["name"] == "large"
        assert last["requestObject"]["metadata"]["annotations"] == large["metadata"]["annotations"]
        assert last["responseObject"]["metadata"]["uid"]
