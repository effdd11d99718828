"""Measures the cost of 10 validation rules: dry-run creates with and without them, in turns."""

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from hack.lib.bench import workload
from hack.lib.definitions import definition

LABEL: Final = "validation of 10 rules, ms CPU"
ROUNDS: Final = 10
_REQUESTS_A_SECOND: Final = 1000
"""Requests with the rules, and as many without, for each second of --seconds: 5,000 by default."""
_LISTENERS: Final = 6

_NAME: Final = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
_PAIR: Final = "(has(a.hostname) == has(b.hostname)) && (!has(a.hostname) || a.hostname == b.hostname)"
_SPEC_RULES: Final = (
    ("self.minReplicas <= self.maxReplicas", "minReplicas must not be above maxReplicas"),
    ("has(self.issuerRef) != has(self.secretName)", "exactly one of issuerRef and secretName must be set"),
    ("self.mode == 'Manual' ? has(self.replicas) : !has(self.replicas)", "replicas are set in mode Manual only"),
    ("!has(self.replicas) || (self.replicas >= self.minReplicas && self.replicas <= self.maxReplicas)", "replicas out of range"),
    ("self.listeners.exists(l, l.protocol == 'HTTPS')", "one listener must use HTTPS"),
)
_LISTENERS_RULES: Final = (
    ("self.all(l, l.protocol in ['HTTP', 'TCP'] ? !has(l.certificate) : true)", "certificates are for HTTPS only"),
    (f"self.all(a, self.exists_one(b, a.port == b.port && a.protocol == b.protocol && {_PAIR}))", "listeners must differ"),
    ("self.all(l, !has(l.hostname) || size(l.hostname) > 0)", "hostname must not be empty"),
)
_LISTENER_RULES: Final = (("self.protocol != 'HTTPS' || has(self.certificate)", "HTTPS needs a certificate"),)
_NAME_RULES: Final = ((f"self.matches('{_NAME}')", "name must be a DNS label"),)


@dataclass(frozen=True, slots=True)
class Cost:
    """The processor time of the rules in one request, in milliseconds: the median of the rounds, and the lowest and highest round."""

    median: float
    lowest: float
    highest: float
    requests: int
    """Requests with the rules, and as many without."""


def measure(send: Callable[..., object], cpu_seconds: Callable[[], float], seconds: float) -> Cost:
    """Return the cost of the rules; `send` runs the load generator, `cpu_seconds` is the server's processor time."""
    count = max(1, round(_REQUESTS_A_SECOND * seconds / ROUNDS))
    differences = []
    for number in range(ROUNDS + 1):
        before = cpu_seconds()
        send(**_creates("checkeds", "Checked", count))
        between = cpu_seconds()
        send(**_creates("uncheckeds", "Unchecked", count))
        if number:  # The first round compiles the rules.
            differences.append((2 * between - before - cpu_seconds()) * 1000 / count)
    return Cost(statistics.median(differences), min(differences), max(differences), count * ROUNDS)


def definitions() -> Iterable[dict[str, Any]]:
    """Return two definitions that differ in their rules only."""
    for plural, kind, ruled in (("checkeds", "Checked", True), ("uncheckeds", "Unchecked", False)):
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _schema(ruled=ruled)}}
        yield definition(workload.GROUP, plural, kind, version)


def _schema(*, ruled: bool) -> dict[str, Any]:
    def node(schema_type: str, rules: Iterable[tuple[str, str]] = (), **keywords: Any) -> dict[str, Any]:
        found = [{"rule": rule, "message": message} for rule, message in rules] if ruled else []
        return {"type": schema_type, **keywords} | ({"x-kubernetes-validations": found} if found else {})

    text, count = node("string", maxLength=253), node("integer", minimum=0)
    listener = {
        "name": node("string", _NAME_RULES, maxLength=63),
        "port": node("integer", minimum=1, maximum=65535),
        "protocol": node("string", enum=["HTTP", "HTTPS", "TCP"]),
        "hostname": text,
        "certificate": text,
    }
    listeners = node(
        "array",
        _LISTENERS_RULES,
        maxItems=64,
        items=node("object", _LISTENER_RULES, required=["name", "port", "protocol"], properties=listener),
    )
    spec = {
        "mode": node("string", enum=["Auto", "Manual"], default="Auto"),
        "replicas": count,
        "minReplicas": count | {"default": 1},
        "maxReplicas": count | {"default": 10},
        "issuerRef": node("object", properties={"name": text}),
        "secretName": text,
        "listeners": listeners,
        "payload": node("string", maxLength=4096),
    }
    return node("object", properties={"spec": node("object", _SPEC_RULES, required=["listeners"], properties=spec)})


def _creates(plural: str, kind: str, count: int) -> dict[str, Any]:
    """Return a run of dry-run creates."""
    path = f"{workload.collection(plural)}?dryRun=All"
    return {"Requests": count, "Seconds": 300, "Method": "POST", "Path": path, "Body": _body(kind), "ContentType": "application/json"}


def _body(kind: str) -> str:
    """Return an object that satisfies the rules, as a template of the load generator."""
    listeners: list[dict[str, Any]] = [
        {"name": f"listener-{number}", "port": 8000 + number, "protocol": "HTTP", "hostname": f"host-{number}.example.com"}
        for number in range(_LISTENERS)
    ]
    listeners[-1] |= {"protocol": "HTTPS", "certificate": "example-com"}
    spec: dict[str, Any] = {"mode": "Manual", "replicas": 3, "issuerRef": {"name": "ca"}, "listeners": listeners}
    return workload.filled(kind, {"name": "checked-{n}"}, spec)
