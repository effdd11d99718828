"""The dashboard of the manifests: each query names metrics that are there."""

import json
from pathlib import Path
from typing import Any, Final

from hack.lib.manifests import built, one
from tests.integration.monitoring.evaluation import Series, evaluate, expects, inputs

WITHOUT_SERIES: Final = {
    "Rejections by priority level",
    "Open StorageVersionMigrations",
    "Calls of admission webhooks",
    "Calls of conversion webhooks",
    "Silent conversion webhooks",
}
"""Panels that are empty until something happens. Their metrics are declared."""


def _queries() -> dict[str, str]:
    dashboard: dict[str, Any] = json.loads(one(built("overlays/monitoring"), "ConfigMap", "apiext-dashboard")["data"]["apiext.json"])
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    return {panel["title"]: panel["targets"][0]["expr"].replace("$__rate_interval", "5m") for panel in panels}


def test_each_panel_shows_something(tmp_path: Path, scraped: Series, declared: set[str]) -> None:
    """Get results for each query from scrapes of a server, an operator and etcd with some traffic between them."""
    queries = _queries()
    assert queries.keys() >= WITHOUT_SERIES
    shown = [expects(f"(count({query}) > bool 0)", "3m", 1) for title, query in queries.items() if title not in WITHOUT_SERIES]
    empty = [expects(f"count({queries[title]})", "3m", None) for title in sorted(WITHOUT_SERIES)]
    for title in WITHOUT_SERIES:
        assert any(metric in queries[title] for metric in declared), title

    assert evaluate(tmp_path, [{"interval": "1m", "input_series": inputs(scraped), "promql_expr_test": [*shown, *empty]}]) == ""
