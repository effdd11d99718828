"""Converts generated objects between versions in process, by `apiext convert serve` behind kube-apiserver, and by `apiext serve`."""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from hack.lib.conversions.cases import Case, gadget_case, read_cases
from hack.lib.conversions.proof import ProvenPair, ServerProof, proof_servers, prove_in_process, prove_in_servers
from hack.lib.conversions.summary import summary_lines
from hack.lib.reference import binaries
from hack.lib.servers.process import ProcessError


def main() -> int:
    """Run the proof and return the exit code: 1 if an answer differs or something is lost, or a program does not start."""
    options = _parser().parse_args()
    cases = [case for case in (read_cases(options.files) if options.files else [gadget_case()]) if options.only in case.name]
    begin = time.monotonic()
    try:
        with ExitStack() as stack:
            proof = None
            if options.where != "process":
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="apiext-conversions-")))
                proof = stack.enter_context(proof_servers(folder, cases))
            pairs = [pair for case in cases for pair in _proven(case, proof, options)]
    except (binaries.ProvideError, ProcessError) as error:
        print(f"hack/conversions: {error}", file=sys.stderr)
        return 1
    return _report(pairs, time.monotonic() - begin)


def _proven(case: Case, proof: ServerProof | None, options: argparse.Namespace) -> list[ProvenPair]:
    pairs = [ProvenPair(case.name, first, second) for first, second in case.pairs]
    if options.where != "servers":
        for pair in pairs:
            prove_in_process(case, pair, options.objects, options.seed)
            _say(f"{pair}: {pair.trials.objects} objects in process, {len(pair.problems)} problems, {pair.seconds:.0f} s")
    if proof is not None:
        prove_in_servers(proof, case, pairs, (options.objects, options.writes, options.journeys), options.seed, _say)
    for problem in [problem for pair in pairs for problem in pair.problems][: options.show]:
        print(f"{problem}\n", flush=True)
    return pairs


def _report(pairs: Sequence[ProvenPair], seconds: float) -> int:
    for line in summary_lines(pairs):
        print(line)
    problems = sum(len(pair.problems) for pair in pairs)
    print(f"{len(pairs)} pairs of versions, {problems} problems, {seconds:.0f} s")
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/conversions", description=__doc__)
    parser.add_argument("files", metavar="FILE", type=Path, nargs="*", help="files or folders with CRDs and their Conversion objects")
    parser.add_argument("--only", metavar="TEXT", default="", help="only CRDs whose name contains the text")
    parser.add_argument(
        "--objects",
        type=int,
        default=10_000,
        help="objects of each pair of versions; in process in each direction (default: %(default)s)",
    )
    parser.add_argument("--writes", type=int, default=500, help="objects of each pair of versions that are written (default: %(default)s)")
    parser.add_argument(
        "--journeys", type=int, default=20, help="objects of each CRD about which all verbs are sent (default: %(default)s)"
    )
    parser.add_argument("--where", choices=("process", "servers", "both"), default="both", help="where to convert (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices (default: %(default)s)")
    parser.add_argument("--show", type=int, default=10, help="problems of each CRD to print (default: %(default)s)")
    return parser


def _say(line: str) -> None:
    print(f"hack/conversions: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
