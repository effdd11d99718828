"""Converts generated objects between versions in kube-apiserver, by `apiext convert serve`, and in apiext, and compares the answers."""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from hack.lib.conversions.proof import define_conversions, gadget_case, prove, read_cases
from hack.lib.differential.pair import Pair
from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.converted_plane import ConvertedPlane
from hack.lib.servers.process import ProcessError


def main() -> int:
    """Run the proof and return the exit code: 1 if an answer differs or something is lost, or a program does not start."""
    options = _parser().parse_args()
    cases = [case for case in (read_cases(options.files) if options.files else [gadget_case()]) if options.only in case.name]
    begin = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="apiext-conversions-") as scratch:
            folder = Path(scratch)
            with ConvertedPlane(folder / "reference") as converted, ApiextServer(folder / "apiext") as server:
                pair = Pair(converted.plane, server)
                define_conversions(pair)
                outcome = prove(converted, pair, cases, options.objects, options.seed, _say)
                pair.close()
    except (binaries.ProvideError, ProcessError) as error:
        print(f"hack/conversions: {error}", file=sys.stderr)
        return 1
    for problem in outcome.problems[: options.show]:
        print(f"{problem}\n")
    seconds = time.monotonic() - begin
    print(f"{len(cases)} CRDs, {outcome.objects} objects, {outcome.requests} requests, {len(outcome.problems)} problems, {seconds:.0f} s")
    return 1 if outcome.problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/conversions", description=__doc__)
    parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help="files or folders with CRDs and their Conversion objects")
    parser.add_argument("--only", metavar="TEXT", default="", help="only CRDs whose name contains the text")
    parser.add_argument("--objects", type=int, default=10_000, help="objects of each CRD (default: %(default)s)")
    parser.add_argument("--seed", default="1", help="seed of all random choices (default: %(default)s)")
    parser.add_argument("--show", type=int, default=10, help="problems to print (default: %(default)s)")
    return parser


def _say(line: str) -> None:
    print(f"hack/conversions: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
