"""Fuzzes the parsers of clients' input one after the other, and prints how far each run came."""

import argparse
import base64
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
_PROGRESS: Final = re.compile(r"#\d+\s|INFO: ")
"""Lines of libFuzzer about a run, by the thousand."""


@dataclass(frozen=True)
class Run:
    """A run of one target: its inputs, the reached edges of the code, and the output of a failure with the input in base64."""

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
        failure = _failure(done, folder) if done.returncode else ""
    inputs = re.findall(r"^#(\d+)\s", done.stderr, re.MULTILINE)
    edges = re.findall(r" cov: (\d+)", done.stderr)
    return Run(name, int(inputs[-1]) if inputs else 0, int(edges[-1]) if edges else 0, failure)


def _failure(done: subprocess.CompletedProcess[str], folder: Path) -> str:
    """Return what a failed run says, and the input that libFuzzer left in the folder, as the corpus keeps it."""
    lines = [line for line in (done.stdout + done.stderr).splitlines() if not _PROGRESS.match(line)]
    left = [f"input: {base64.b64encode(path.read_bytes()).decode()}" for path in sorted(folder.iterdir()) if path.is_file()]
    return "\n".join([*lines[-_SHOWN_LINES:], *left])


def _child(name: str, folder: Path, options: Sequence[str], seconds: int) -> subprocess.CompletedProcess[str]:
    limits = [f"-max_len={_LONGEST}", f"-timeout={_TIMEOUT}", f"-rss_limit_mb={_MEMORY}"]
    command = [sys.executable, "-m", "hack.lib.fuzz.child", name, *limits, *options]
    root = str(Path(__file__).resolve().parents[3])
    environment = {"PYTHONPATH": root, "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", timeout=seconds + _MARGIN, check=False
    )


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def main() -> int:
    """Fuzz the chosen targets, and return the exit code: 1 if an input failed."""
    parser = argparse.ArgumentParser(prog="hack/fuzz", description=__doc__)
    parser.add_argument("target", nargs="*", help=f"one of {', '.join(TARGETS)} (default: all)")
    parser.add_argument("--seconds", type=_positive, default=60, help="for each target (default: 60)")
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
