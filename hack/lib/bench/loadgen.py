"""Builds the programs of hack/loadgen once for each state of their sources, and runs the load generator in a process per measurement."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hack.lib.reference import own_programs

SOURCES = Path(__file__).resolve().parents[3] / "hack" / "loadgen"
_PACKAGE = "apiext.dev/loadgen"
_NAME = "loadgen"
_WEBHOOK = "conversion"
_NULL = "null"


@dataclass(frozen=True, slots=True)
class Result:
    """The measurements of one run: rates per second, latencies in milliseconds."""

    rate: float
    p50: float
    p99: float
    requests: int
    seconds: float
    bytes: int
    events: int
    missed: int


class LoadError(Exception):
    """Requests of a run failed, so its measurements mean nothing."""


def build() -> Path:
    """Return the binary of the load generator in the cache folder; build it, and the servers beside it, if it is missing.

    Raises:
        BuildError: The build fails.
    """
    packages = {_PACKAGE: _NAME, **{f"{_PACKAGE}/{name}": name for name in (_WEBHOOK, _NULL)}}
    return own_programs.build(SOURCES, packages) / _NAME


def webhook(binary: Path) -> Path:
    """Return the binary of the webhook, beside that of the load generator."""
    return binary.with_name(_WEBHOOK)


def null_server(binary: Path) -> Path:
    """Return the binary of the server with prepared answers, beside that of the load generator."""
    return binary.with_name(_NULL)


def run(binary: Path, **fields: Any) -> Result:
    """Run the load generator once; the fields are those of the type Run in hack/loadgen/main.go.

    Raises:
        LoadError: a request failed, or a watcher missed an event.
    """
    return run_command([binary], fields)


def run_command(command: Sequence[str | Path], fields: Mapping[str, Any]) -> Result:
    """Run a command that runs the load generator; see `run`.

    Raises:
        LoadError: a request failed, or a watcher missed an event.
    """
    done = subprocess.run(command, input=json.dumps(fields), capture_output=True, text=True, check=False)
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
