"""Plays the scripted life of a definition on apiext, and fails if something is lost or an answer differs from kube-apiserver's."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from hack.lib.life.deployments import WAYS
from hack.lib.life.story import Story, reference_lines
from hack.lib.life.transcript import Line, differences
from hack.lib.reference import binaries
from hack.lib.servers import process


def main() -> int:
    """Play the life in every way and return the exit code: 1 if something is lost or differs, or a program does not start."""
    parser = argparse.ArgumentParser(prog="hack/life", description=__doc__)
    parser.add_argument("--way", choices=WAYS, help="play it in this way only (default: one after the other)")
    parser.add_argument("--objects", type=int, default=10_000, help="objects that exist all the time (default: 10000)")
    options = parser.parse_args()
    ways = [options.way] if options.way else list(WAYS)
    try:
        with tempfile.TemporaryDirectory(prefix="apiext-life-") as folder:
            theirs = reference_lines(Path(folder))
        problems = [line for way in ways for line in _play(way, options.objects, theirs)]
    except (binaries.ProvideError, process.ProcessError) as error:
        print(f"hack/life: {error}", file=sys.stderr)
        return 1
    print("\n".join(["", "Problems:", *problems] if problems else ["", "Nothing was lost, and all answers were equal."]))
    return 1 if problems else 0


def _play(way: str, objects: int, theirs: list[Line]) -> list[str]:
    """Play the life in one way, print its counts, and return its problems."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="apiext-life-") as folder, WAYS[way](Path(folder)) as deployment:
        story = Story(deployment, objects, progress=lambda line: print(f"{way}: {line}", flush=True))
        lines = story.play()
    found, seconds = story.findings, time.monotonic() - start
    problems = [*found.problems, *differences(theirs, lines)]
    print(
        f"{way}: {objects:,} objects, {len(lines)} answers compared, {story.faults.kills} kills, {found.writes:,} acknowledged writes, "
        f"{found.doubts} writes in doubt, {found.lists:,} lists, {len(problems)} problems, {seconds:.0f} s",
        flush=True,
    )
    return [f"{way}: {problem}" for problem in problems]


if __name__ == "__main__":
    sys.exit(main())
