"""The alert rules of the manifests, evaluated by promtool."""

import re
from pathlib import Path
from typing import Any, Final

import yaml

from hack.lib.manifests import MANIFESTS, built, one
from tests.integration.monitoring.evaluation import ETCD, OPERATOR, SERVER, Series, evaluate, expects, inputs, name_of

CASES: Final[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "alert_cases.yaml").read_text())
_TARGETS: Final = {"SERVER": SERVER, "OPERATOR": OPERATOR, "ETCD": ETCD}


def _groups() -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = one(built("overlays/monitoring"), "PrometheusRule", "apiext")["spec"]["groups"]
    return groups


def _alerts() -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for group in _groups() for rule in group["rules"]}


def _series(text: str) -> str:
    """Return a series of the cases with the labels of its target."""
    for name, labels in _TARGETS.items():
        text = text.replace(name, name_of("", labels)[1:-1])
    return text


def test_each_alert_fires(tmp_path: Path) -> None:
    """Fire each alert on the series of its case."""
    assert CASES.keys() == _alerts().keys()
    tests = [
        {
            "name": alert,
            "interval": "1m",
            "input_series": inputs({_series(series): values for series, values in case["fires"].items()}),
            "promql_expr_test": [expects(f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', case["at"], 1)],
        }
        for alert, case in CASES.items()
    ]

    assert evaluate(tmp_path, tests, _groups()) == ""


def test_backups_that_never_succeeded(tmp_path: Path) -> None:
    """Fire on a CronJob without any success, two days after it was made, and not on an older one that has succeeded."""
    labels = {"namespace": "apiext-system", "cronjob": "apiext-backup"}
    created = {name_of("kube_cronjob_created", labels): "-172800x30"}
    succeeded = {name_of("kube_cronjob_status_last_successful_time", labels): "0x30"}
    firing = 'count(ALERTS{alertname="ApiextBackupMissing",alertstate="firing"})'
    tests = [
        {"interval": "1m", "input_series": inputs(series), "promql_expr_test": [expects(firing, "20m", value)]}
        for series, value in ((created, 1), (created | succeeded, None))
    ]

    assert evaluate(tmp_path, tests, _groups()) == ""


def test_two_ends_of_workers(tmp_path: Path) -> None:
    """Fire nothing when two workers of a server end, though Prometheus extrapolates their number to the whole window."""
    series = {name_of("apiext_server_workers_replaced_total", SERVER): "4x20 6x20", name_of("up", SERVER): "1x40"}
    firing = expects('count(ALERTS{alertname="ApiextWorkersEnd"})', "24m", None)

    assert evaluate(tmp_path, [{"interval": "1m", "input_series": inputs(series), "promql_expr_test": [firing]}], _groups()) == ""


def test_a_failed_scrape_between(tmp_path: Path) -> None:
    """Fire on missing workers though a scrape fails meanwhile, not when they answer before 10 minutes pass."""
    name = name_of("apiext_server_workers_missing", SERVER)
    firing = 'count(ALERTS{alertname="ApiextWorkersMissing",alertstate="firing"})'
    tests = [
        {"interval": "1m", "input_series": inputs({name: values}), "promql_expr_test": [expects(firing, "14m", value)]}
        for values, value in (("1x6 stale 1x20", 1), ("1x6 stale 0x20", None))
    ]

    assert evaluate(tmp_path, tests, _groups()) == ""


def test_failed_scrapes_within_hours(tmp_path: Path) -> None:
    """Fire each alert on what lasts for hours though a scrape fails meanwhile."""
    lasting = [name for name, rule in _alerts().items() if rule.get("for", "").endswith("h")]
    tests = [
        {
            "name": alert,
            "interval": "1m",
            "input_series": inputs(
                {_series(series): re.sub(r"(.*)x(\d+)", r"\1x30 stale \1x\2", values) for series, values in CASES[alert]["fires"].items()}
            ),
            "promql_expr_test": [expects(f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', CASES[alert]["at"], 1)],
        }
        for alert in lasting
    ]

    assert len(lasting) >= 4
    assert evaluate(tmp_path, tests, _groups()) == ""


def test_an_etcd_that_was_never_compacted(tmp_path: Path) -> None:
    """Fire an hour after the start of an etcd without any compaction, and not before."""
    series = {name_of("etcd_debugging_mvcc_db_compaction_last", ETCD): "0x90", name_of("process_start_time_seconds", ETCD): "60x90"}
    firing = 'count(ALERTS{alertname="ApiextEtcdNotCompacted",alertstate="firing"})'
    expected = [expects(firing, "60m", None), expects(firing, "80m", 1)]

    assert evaluate(tmp_path, [{"interval": "1m", "input_series": inputs(series), "promql_expr_test": expected}], _groups()) == ""


def test_no_alert_fires_without_a_cause(tmp_path: Path, scraped: Series) -> None:
    """Fire nothing on what servers, operators and members of etcd show after some traffic."""
    up: Series = {name_of("up", labels): "1x300" for labels in _TARGETS.values()}
    quiet = expects('count(ALERTS{alertstate="firing"})', "3h", None)

    assert evaluate(tmp_path, [{"interval": "1m", "input_series": inputs(up | scraped), "promql_expr_test": [quiet]}], _groups()) == ""


def test_each_alert_has_a_runbook() -> None:
    """Link each alert to a paragraph, and each paragraph to an alert."""
    headings = re.findall(r"^### (Apiext\w+)$", (MANIFESTS / "RUNBOOK.md").read_text(), re.MULTILINE)

    assert sorted(headings) == sorted(_alerts())
    for name, rule in _alerts().items():
        assert rule["annotations"]["runbook_url"] == f"manifests/RUNBOOK.md#{name.lower()}"
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert rule["annotations"]["summary"].endswith((".", "old."))
