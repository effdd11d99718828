"""Sends generated requests about the real definitions to kube-apiserver and to apiext, and prints the share of equal answers."""

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Final

from hack.lib.differential.comparison import Outcome, Plan, compare
from hack.lib.differential.pair import Pair
from hack.lib.real_crds import NO_REAL, real_crds
from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import BareServer
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.process import ProcessError

_GOAL: Final = 0.999


def main() -> int:
    """Run the comparison and return the exit code: 1 if fewer answers are equal than the goal, or a program does not start."""
    options = _parser().parse_args()
    crds = [crd for crd in real_crds() if options.only in crd["metadata"]["name"]]
    if not crds:
        print(f"hack/differential: {NO_REAL}, or has no {options.only}", file=sys.stderr)
        return 1
    plan = Plan(rules=not options.no_rules, applies=not options.no_applies, rounds=options.rounds)
    try:
        with tempfile.TemporaryDirectory(prefix="apiext-differential-") as scratch:
            folder = Path(scratch)
            with ControlPlane(folder / "reference", durable=False) as plane, BareServer(folder / "apiext") as server:
                pair = Pair(plane, server)
                outcome = compare(pair, crds, lambda name: random.Random(f"{options.seed}{name}"), plan, _say)  # noqa: S311
                pair.close()
    except (binaries.ProvideError, ProcessError) as error:
        print(f"hack/differential: {error}", file=sys.stderr)
        return 1
    print(report(outcome))
    return 0 if outcome.share >= _GOAL else 1


def report(outcome: Outcome) -> str:
    """Return the differences by cause, and the share of equal answers."""
    groups = [f"{count} x {cause}\n  {example.replace(chr(10), chr(10) + '  ')[:1500]}" for count, cause, example in outcome.groups()]
    return "\n\n".join([*groups, f"{outcome.compared} requests, {len(outcome.different)} different: {outcome.share:.2%} equal"])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/differential", description=__doc__)
    parser.add_argument("--only", metavar="TEXT", default="", help="only definitions whose name contains the text")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=1, help="objects of each definition that live from creation to deletion (default: 1)")
    parser.add_argument("--no-rules", action="store_true", help="remove CEL rules from the definitions")
    parser.add_argument("--no-applies", action="store_true", help="send no apply patches")
    return parser


def _say(line: str) -> None:
    print(f"hack/differential: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
