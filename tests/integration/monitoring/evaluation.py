"""Evaluates queries and alert rules with promtool on given series, one sample a minute."""

import json
import math
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from hack.lib.reference.promtool import promtool

SERVER: Final = {"job": "apiext-system/apiext", "namespace": "apiext-system", "pod": "apiext-1"}
"""Labels that Prometheus gives to what it scrapes from a server, after the PodMonitors."""
OPERATOR: Final = {"job": "apiext-system/apiext-operator", "namespace": "apiext-system", "pod": "apiext-operator-1"}
ETCD: Final = {"job": "apiext-system/apiext-etcd", "namespace": "apiext-system", "pod": "apiext-etcd-0"}
_LASTING: Final = 300
"""Minutes for which the last value of a series stays."""

Series = dict[str, str]
"""Values in promtool's notation by series."""


def series_of(target: Mapping[str, str], *scrapes: str) -> Series:
    """Return the series of scrapes a minute apart; the last values stay."""
    values: dict[str, list[str]] = {}
    for number, text in enumerate(scrapes):
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found = values.setdefault(name_of(sample.name, {**sample.labels, **target}), ["_"] * number)
                found.append(_number(sample.value))
    return {series: " ".join((*found[:-1], f"{found[-1]}+0x{_LASTING}")) for series, found in values.items()}


def name_of(metric: str, labels: Mapping[str, str]) -> str:
    """Return the text of a series."""
    return f"{metric}{{{','.join(f'{name}={json.dumps(value, ensure_ascii=False)}' for name, value in labels.items())}}}"


def evaluate(folder: Path, tests: list[dict[str, Any]], groups: list[dict[str, Any]] | None = None) -> str:
    """Run tests in promtool's format with rules; return the failures, empty if all pass."""
    (folder / "rules.json").write_text(json.dumps({"groups": groups or []}))
    file = folder / "tests.json"
    file.write_text(json.dumps({"rule_files": ["rules.json"], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run([promtool(), "test", "rules", file], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def expects(expression: str, at: str, value: float | None) -> dict[str, Any]:
    """Return the expectation that a query has this one value without labels, or no result."""
    samples = [] if value is None else [{"labels": "{}", "value": value}]
    return {"expr": expression, "eval_time": at, "exp_samples": samples}


def inputs(series: Series) -> list[dict[str, str]]:
    """Return series in promtool's format."""
    return [{"series": name, "values": values} for name, values in series.items()]


def _number(value: float) -> str:
    return f"{value:.9f}" if math.isfinite(value) else str(value).replace("inf", "Inf").replace("nan", "NaN")
