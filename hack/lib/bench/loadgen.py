"""The load generator of hack/loadgen: built once for its sources, then one process for each measurement."""

import hashlib
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hack.lib.reference import binaries, golang

SOURCES = Path(__file__).resolve().parents[3] / "hack" / "loadgen"


@dataclass(frozen=True, slots=True)
class Result:
    """What one run measured; rates per second, latencies in milliseconds."""

    rate: float
    p50: float
    p99: float
    requests: int
    seconds: float
    bytes: int
    events: int
    missed: int


class LoadError(Exception):
    """A run had failed requests: its figures mean nothing."""


def build() -> Path:
    """The load generator's binary, in the cache folder.

    Raises:
        BuildError: it cannot be built.
    """
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(SOURCES.iterdir()))).hexdigest()[:16]
    target = binaries.cache_folder() / "loadgen" / digest / "bin" / "loadgen"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        golang.build(SOURCES, ".", target, ldflags="-s -w", cache=binaries.cache_folder(), progress=print)
    return target


def run(binary: Path, **fields: Any) -> Result:
    """Do one run; see the type Run of hack/loadgen/main.go for the fields.

    Raises:
        LoadError: a request failed, or a watcher missed an event.
    """
    done = subprocess.run([binary], input=json.dumps(fields), capture_output=True, text=True, check=False)
    if done.returncode:
        raise LoadError(done.stderr.strip())
    raw = json.loads(done.stdout)
    if raw["errors"]:
        raise LoadError(f"{raw['errors']} of {raw['requests']} requests failed, the last with: {raw['error']}")
    if raw["missed"]:
        raise LoadError(f"{raw['missed']} events did not reach their watchers")
    watching = bool(raw["events"])
    return Result(
        rate=raw["rate"],
        p50=raw["event_p50" if watching else "p50"],
        p99=raw["event_p99" if watching else "p99"],
        requests=raw["requests"],
        seconds=raw["seconds"],
        bytes=raw["bytes"],
        events=raw["events"],
        missed=raw["missed"],
    )
