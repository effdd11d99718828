"""Changes real definitions at random, and compares what `apiext plan` says of their objects with what kube-apiserver then does."""

import argparse
import sys
import tempfile
from pathlib import Path

from hack.lib.foretell.foretelling import foretell
from hack.lib.real_crds import NO_REAL, real_crds
from hack.lib.reference import binaries
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.process import ProcessError


def main() -> int:
    """Run the comparison and return the exit code: 1 if a prediction is wrong, or a program does not start."""
    options = _parser().parse_args()
    crds = real_crds()
    if not crds:
        print(f"hack/foretell: {NO_REAL}", file=sys.stderr)
        return 1
    numbers = options.only or range(options.pairs)
    try:
        with tempfile.TemporaryDirectory(prefix="apiext-foretell-") as scratch, ControlPlane(Path(scratch), durable=False) as plane:
            tally = foretell(plane, crds, numbers, options.seed, options.jobs, _say)
    except (binaries.ProvideError, ProcessError) as error:
        print(f"hack/foretell: {error}", file=sys.stderr)
        return 1
    print(tally.report())
    return 1 if tally.wrong or not tally.compared else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/foretell", description=__doc__)
    parser.add_argument("--pairs", type=int, default=200, metavar="N", help="pairs of releases (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of all random choices (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=4, help="pairs at the same time (default: %(default)s)")
    parser.add_argument("--only", type=int, nargs="+", metavar="NUMBER", help="only the pairs with these numbers")
    return parser


def _say(line: str) -> None:
    print(f"hack/foretell: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
