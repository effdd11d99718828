"""Fuzzes the parsers of clients' input one after the other, and prints how far each run came."""

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.lib.fuzz import corpus
from hack.lib.fuzz.targets import TARGETS

_LONGEST: Final = 4096
"""Maximum size of an input in bytes: slow growth with the size is the subject of hack/soak --hostile."""
_TIMEOUT: Final = 20
"""Seconds that one input may take."""
_MEMORY: Final = 2048
"""Memory that one input may use in MiB."""
_MARGIN: Final = 120.0
"""Seconds beyond the given ones in which a run has to end."""
_SHOWN_LINES: Final = 30


@dataclass(frozen=True)
class Run:
    """A run of one target: its inputs, the reached edges of the code, and the output of a failure."""

    name: str
    inputs: int
    edges: int
    failure: str = ""


def fuzz(name: str, seconds: int, *, seed: int = 0, keep: bool = False) -> Run:
    """Fuzz a target for some seconds, from its kept inputs on; with `keep`, keep those that reach more.

    The same `seed` gives the same inputs as long as the code is the same; 0 stands for a random one.

    Raises:
        TimeoutExpired: The run does not end.
    """
    with tempfile.TemporaryDirectory(prefix="apiext-fuzz-") as scratch:
        folder = Path(scratch)
        found = folder / "found"
        corpus.unpack(name, found)
        done = _child(name, folder, [f"-max_total_time={seconds}", f"-seed={seed}", str(found)], seconds)
        if keep and not done.returncode:
            corpus.pack(name, found)
    inputs = re.findall(r"^#(\d+)\s", done.stderr, re.MULTILINE)
    edges = re.findall(r" cov: (\d+)", done.stderr)
    output = done.stdout + done.stderr
    failure = "\n".join(output.splitlines()[-_SHOWN_LINES:]) if done.returncode else ""
    return Run(name, int(inputs[-1]) if inputs else 0, int(edges[-1]) if edges else 0, failure)


def _child(name: str, folder: Path, options: Sequence[str], seconds: int) -> subprocess.CompletedProcess[str]:
    limits = [f"-max_len={_LONGEST}", f"-timeout={_TIMEOUT}", f"-rss_limit_mb={_MEMORY}"]
    command = [sys.executable, "-m", "hack.lib.fuzz.child", name, *limits, *options]
    root = str(Path(__file__).resolve().parents[3])
    environment = {"PYTHONPATH": root, "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=seconds + _MARGIN, check=False
    )


def main() -> int:
    """Fuzz the chosen targets, and return the exit code: 1 if an input failed."""
    parser = argparse.ArgumentParser(prog="hack/fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"one of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    parser.add_argument("--keep", action="store_true", help="keep the inputs that reach new code")
    options = parser.parse_args()
    if unknown := set(options.target) - TARGETS.keys():
        parser.error(f"unknown targets: {', '.join(sorted(unknown))}")
    failed = False
    for name in options.target or TARGETS:
        run = fuzz(name, options.seconds, keep=options.keep)
        print(f"{name:<24}{run.inputs:>12,} inputs{run.edges:>8,} edges{'   FAILED' if run.failure else ''}", flush=True)
        if run.failure:
            failed = True
            print(run.failure, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
