"""Tests of the request metrics: both servers get equal requests and return equal samples."""

import re
from collections import Counter
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Side, Step
from tests.support.builders.crds import widget, widget_crd

pytestmark = pytest.mark.slow

GROUP: Final = "metrics.example.com"
ROOT: Final = f"/apis/{GROUP}/v1"
BASE: Final = f"{ROOT}/namespaces/default/widgets"
WIDGET: Final = widget(group=GROUP)
NEVER: Final = "resourceVersion=99999999&resourceVersionMatch=NotOlderThan"
_SAMPLE: Final = re.compile(r"(apiserver_request_(?:total|duration_seconds_count))\{(.*)\} (\S+)")
STEPS: Final = (
    *(
        Step("POST", BASE, WIDGET),
        Step("POST", f"{BASE}?dryRun=All", WIDGET),
        Step("POST", BASE, b"{"),
        Step("POST", f"{BASE}?dryRun=x", WIDGET),
    ),
    *(
        Step("GET", BASE),
        Step("GET", f"{ROOT}/widgets"),
        Step("GET", f"{BASE}/a"),
        Step("HEAD", f"{BASE}/a"),
        Step("GET", f"{BASE}/missing"),
    ),
    *(
        Step("GET", f"{BASE}?fieldSelector=metadata.name%3Da"),
        Step("GET", f"{BASE}?watch=1&timeoutSeconds=1"),
        Step("GET", f"{BASE}/a/status"),
    ),
    *(
        Step("PUT", f"{BASE}/a", {}),
        Step("PATCH", f"{BASE}/a", {}),
        Step("PROPFIND", BASE),
        Step("OPTIONS", BASE),
        Step("GET", f"{ROOT}/unknown"),
    ),
    *(Step("GET", f"{BASE}?timeout=x"), Step("GET", f"{BASE}?{NEVER}"), Step("GET", f"{BASE}/a/unknown")),
    *(Step("DELETE", f"{BASE}?fieldSelector=metadata.name%3Db"), Step("DELETE", f"{BASE}/a")),
)


def _counted(side: Side) -> Counter[str]:
    """Return the samples about the group by name and sorted labels."""
    found: Counter[str] = Counter()
    for name, labels, value in _SAMPLE.findall(side.raw(Step("GET", "/metrics"))[1].decode()):
        if f'group="{GROUP}"' in labels:
            found[f"{name}{sorted(labels.split(','))}"] = round(float(value))
    return found


def test_flow_control_metrics(pair: Pair) -> None:
    """Have the reference's metrics of priority and fairness."""
    names = [
        set(
            re.findall(r"^# TYPE (apiserver_(?:flowcontrol|current)_\w+ \w+)$", side.raw(Step("GET", "/metrics"))[1].decode(), re.MULTILINE)
        )
        for side in (pair.reference, pair.ours)
    ]

    assert not names[0] - names[1]
    assert len(names[0]) > 20


def _certificate_lives(side: Side) -> tuple[list[str], int]:
    """Return the buckets of the client certificate histogram, and its count."""
    text = side.raw(Step("GET", "/metrics"))[1].decode()
    name = "apiserver_client_certificate_expiration_seconds"
    (count,) = re.findall(rf"^{name}_count (\S+)", text, re.MULTILINE)
    return re.findall(rf'^{name}_bucket\{{le="(.+?)"', text, re.MULTILINE), int(float(count))


def test_lives_of_client_certificates(pair: Pair) -> None:
    """Count each request with a client certificate in the same buckets."""
    counts = []
    for side in (pair.reference, pair.ours):
        before = _certificate_lives(side)
        for _ in range(3):
            side.raw(Step("GET", "/version"))
        after = _certificate_lives(side)
        counts.append((after[0], after[1] - before[1] >= 4))

    assert counts[1] == counts[0]
    assert counts[0][1]


def test_requests_are_counted_alike(pair: Pair) -> None:
    """Count requests by verb, scope, dry run and code alike."""
    with pair.served(widget_crd(group=GROUP)):
        counted = []
        for side in (pair.reference, pair.ours):
            before = _counted(side)
            for step in STEPS:
                side.raw(step)
            counted.append(_counted(side) - before)

    assert counted[1] == counted[0]
    assert len(counted[0]) > len(STEPS)
