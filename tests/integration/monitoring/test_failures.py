"""Alerts on what servers and etcd really show when a part of them fails."""

import os
import re
import signal
from functools import partial
from pathlib import Path
from typing import Final

from hack.lib.manifests import built, one
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from hack.lib.servers.resources import children
from hack.lib.waiting import until
from tests.integration.monitoring.evaluation import ETCD, SERVER, Series, evaluate, expects, inputs, series_of
from tests.support.builders.encryption import IDENTITY, keyed, write_configuration
from tests.support.servers.full_etcd import etcd_metrics, fill

_POLICY: Final = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, nonResourceURLs: [/version]}]\n"
_QUOTA: Final = 1024 * 1024
_FAILED: Final = (r'apiserver_audit_error_total\{plugin="log"\} [1-9]', r'automatic_reloads_total\{[^}]*status="failure"\} [1-9]')


def _metrics(server: ApiextServer) -> str:
    return server.request("GET", "/metrics")[2].decode()


def _shows(server: ApiextServer, text: str) -> bool:
    return text in _metrics(server)


def _firing(folder: Path, series: Series, alert: str) -> str:
    """Return why an alert does not fire on series; empty if it does."""
    groups = one(built("overlays/monitoring"), "PrometheusRule", "apiext")["spec"]["groups"]
    expected = [expects(f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', "8m", 1)]
    return evaluate(folder, [{"interval": "1m", "input_series": inputs(series), "promql_expr_test": expected}], groups)


def test_server(tmp_path: Path) -> None:
    """Fire on lost audit events, and on an encryption configuration that is invalid."""
    policy, file = tmp_path / "policy.yaml", tmp_path / "encryption.json"
    policy.write_text(_POLICY)
    write_configuration(file, (["*.example.com"], [keyed("aesgcm", "key1"), IDENTITY]))
    flags = [f"--audit-policy-file={policy}", "--audit-log-path=/dev/full", f"--encryption-provider-config={file}"]
    with ApiextServer(tmp_path, extra_args=[*flags, "--encryption-provider-config-automatic-reload"]) as server:

        def broken() -> bool:
            server.request("GET", "/version")
            found = _metrics(server)
            return all(re.search(pattern, found) for pattern in _FAILED)

        before = _metrics(server)
        file.write_text("{")
        until(broken, "the failures")
        series = series_of(SERVER, before, before, _metrics(server))

    for alert in ("ApiextAuditEventsLost", "ApiextEncryptionNotReloaded"):
        assert _firing(tmp_path, series, alert) == ""


def test_workers_that_end_again_and_again(etcd: Etcd, tmp_path: Path) -> None:
    """Fire on a server whose workers are killed three times."""
    with ApiextServer(tmp_path, etcd_url=etcd.url, etcd_prefix="/killed", extra_args=["--workers=2"]) as server:
        before = _metrics(server)
        for number in (1, 2, 3):
            os.kill(children(server.pid)[0], signal.SIGKILL)
            until(partial(_shows, server, f"workers_replaced_total {number}.0"), "the end of the worker")
            until(lambda: len(children(server.pid)) == 2, "its replacement")
        series = series_of(SERVER, before, before, _metrics(server))

    assert _firing(tmp_path, series, "ApiextWorkersEnd") == ""


def test_etcd_at_its_quota(tmp_path: Path) -> None:
    """Fire on the alarm of an etcd that refuses writes."""
    with Etcd(tmp_path, durable=False, extra_args=(f"--quota-backend-bytes={_QUOTA}",)) as etcd:
        refusal = fill(etcd, _QUOTA // 4)
        found = etcd_metrics(etcd)
    alarms = {series: values for series, values in series_of(ETCD, found).items() if series.startswith("etcd_debugging_server_alarms")}

    assert "database space exceeded" in refusal
    assert _firing(tmp_path, alarms, "ApiextEtcdNoSpace") == ""
