"""Measures both servers while a collection grows, and draws latency and memory over the number of objects."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hack.lib import environments
from hack.lib.bench import conversion, loadgen, targets, workload
from hack.lib.bench.client import Client
from hack.lib.servers import resources

SIZES: Final = (1_000, 10_000, 100_000, 300_000)
_READS: Final = 1_000
"""Objects that the timed requests name, from the first ones."""
_CREATE_SECONDS: Final = 3600.0
_MEMORY: Final = "memory, MiB"
_LOCK: Final = environments.ROOT / "hack" / "requirements-plot.lock"


@dataclass(frozen=True, slots=True)
class Growth:
    """The measurements of one target: figures by label, in the order of the sizes."""

    sizes: Sequence[int]
    figures: Mapping[str, Sequence[float]]


def measure(target: targets.Target, binary: Path, sizes: Sequence[int], seconds: float) -> Growth:
    """Start a target, let its collection grow to each size, measure there, and stop it; each timed row takes `seconds`."""
    figures: dict[str, list[float]] = {}
    try:
        target.start()
        client = Client(target.access())
        crd = workload.crd()
        client.serve(crd)
        client.wait_until_writable(crd)
        for before, size in zip((0, *sizes), sizes, strict=False):
            _create(target, binary, before, size)
            for label, value in _figures(target, binary, seconds):
                figures.setdefault(label, []).append(value)
                print(f"  {target.name}: {size:,} objects: {label} {value:,.2f}", file=sys.stderr, flush=True)
    finally:
        target.stop()
    return Growth(sizes, figures)


def _create(target: targets.Target, binary: Path, before: int, size: int) -> None:
    count = size - before
    run = {"Requests": count, "Seconds": _CREATE_SECONDS, "Objects": count, "Method": "POST", "Path": workload.COLLECTION}
    body = workload.body(f"load-{before}")
    loadgen.run(binary, **target.access(), Clients=workload.CLIENTS, Body=body, ContentType="application/json", **run)


def _figures(target: targets.Target, binary: Path, seconds: float) -> Iterable[tuple[str, float]]:
    def p50(path: str, **fields: Any) -> float:
        timed = {"Method": "GET", "Path": path, "Seconds": seconds, "Objects": _READS, "Clients": workload.CLIENTS} | fields
        return loadgen.run(binary, **target.access(), **timed).p50

    first = f"{workload.COLLECTION}/load-0-{{i}}"
    patch: dict[str, Any] = {"Method": "PATCH", "Body": '{"spec":{"sent":"{t}"}}', "ContentType": "application/merge-patch+json"}
    yield "get, p50 ms", p50(first)
    yield "merge patch, p50 ms", p50(first, **patch)
    yield "list, limit=500, p50 ms", p50(f"{workload.COLLECTION}?limit=500", Pages=True)
    yield "list by label, p50 ms", p50(f"{workload.COLLECTION}?labelSelector=shard%3Ds{{h}}", Clients=1)
    yield "list of all, p50 ms", p50(workload.COLLECTION, Clients=1)
    yield _MEMORY, resources.settled_mib(target.pids())
    yield "first list after a restart, s", conversion.first_list_seconds(target, workload.COLLECTION)


def table(found: Mapping[str, Growth]) -> str:
    """Return the figures of all targets in a Markdown table, a line for each figure and size."""
    lines = [f"| figure | objects | {' | '.join(found)} |", "| --- | --- |" + " --- |" * len(found)]
    shown = next(iter(found.values()))
    for label in shown.figures:
        for number, size in enumerate(shown.sizes):
            values = " | ".join(f"{growth.figures[label][number]:,.2f}" for growth in found.values())
            lines.append(f"| {label} | {size:,} | {values} |")
    return "\n".join(lines)


def draw(found: Mapping[str, Growth], picture: Path) -> None:
    """Draw the figures over the sizes, both logarithmic; the suffix of the picture is its format.

    Raises:
        InstallationError: matplotlib cannot be installed.
        CalledProcessError: it cannot write the picture.
    """
    python = environments.of_lock("plot", _LOCK)
    data = {name: {"sizes": list(growth.sizes), "figures": dict(growth.figures)} for name, growth in found.items()}
    program = Path(__file__).with_name("growth_picture.py")
    subprocess.run([python, program, picture], input=json.dumps(data), text=True, check=True)
