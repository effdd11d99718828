"""Attacks a server with hostile inputs, kills it under writes or informers, lets all go wrong at once, and fails if a goal is not met."""

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from hack.lib.reference import binaries, golang
from hack.lib.servers import process
from hack.lib.soak import crash, hostile, report, restart, targets
from hack.lib.soak.inputs import catalogue
from hack.lib.soak.long import run as long_run
from hack.lib.soak.rounds import Counts

STORES: Final = ("sqlite", "etcd")


def main() -> int:
    """Run the soak and return the exit code: 1 if a goal is not met or a program does not start."""
    parser = _parser()
    options = parser.parse_args()
    if options.crash and options.aggregated:
        parser.error("--aggregated is not possible with --crash, which runs apiext alone")
    if (options.restart or options.long) and options.aggregated:
        if options.store == "sqlite":
            parser.error("--restart and --long with --aggregated run servers that share an etcd")
        options.store = "etcd"
    try:
        inputs = catalogue.select(options.only)
    except ValueError as error:
        parser.error(str(error))
    stores = [options.store] if options.store else list(STORES)
    try:
        violations = [line for store in stores for line in _run(store, inputs, options)]
    except (binaries.ProvideError, golang.BuildError, process.ProcessError) as error:
        print(f"hack/soak: {error}", file=sys.stderr)
        return 1
    print("\n".join(["", "Goals that were not met:", *violations] if violations else ["", "All goals were met."]))
    return 1 if violations else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack/soak", description=__doc__)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--hostile", action="store_true", help="send hostile inputs, and measure an ordinary client beside each")
    kind.add_argument("--crash", action="store_true", help="kill the server, and etcd, at random moments under six writers")
    kind.add_argument(
        "--long",
        type=_minutes,
        metavar="MINUTES",
        help="let servers, etcd, networks, disks and clocks fail under clients, and judge all that these saw",
    )
    kind.add_argument("--restart", action="store_true", help="restart servers under 500 informers, which may not list again")
    parser.add_argument("--store", choices=STORES, help="use this store only (default: one after the other)")
    parser.add_argument("--aggregated", action="store_true", help="with --hostile, --restart and --long: apiext runs behind kube-apiserver")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="with --hostile: send inputs that match; may be repeated"
    )
    parser.add_argument("--seconds", type=float, default=0.0, help="with --hostile: repeat each input for this long (default: once)")
    parser.add_argument("--rounds", type=_count, default=20, help="with --crash and --restart: rounds for each store (default: 20)")
    parser.add_argument("--dir", type=Path, help="folder for data and logs, which is kept (default: a temporary one)")
    return parser


def _minutes(text: str) -> float:
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no length of a run")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def _run(store: str, inputs: list[hostile.Input], options: argparse.Namespace) -> list[str]:
    """Run the chosen parts on a store, and return the missed goals."""
    if options.hostile:
        return _hostile(store, inputs, options)
    if options.long:
        return _long(store, options)
    name, rounds = ("crash", crash.run) if options.crash else ("restart", partial(restart.run, behind_host=options.aggregated))
    return _rounds(name, rounds, store, options)


def _hostile(store: str, inputs: list[hostile.Input], options: argparse.Namespace) -> list[str]:
    """Attack a server on a store, print its table, and return the missed goals."""
    title = _title(store, options)
    start = targets.aggregated if options.aggregated else targets.alone
    violations = []
    with _folder(options.dir, title) as folder, start(folder, store) as target:
        print(report.head(title), flush=True)
        for outcome in hostile.outcomes(target, [hostile.nothing, *inputs], seconds=options.seconds):
            print(report.row(outcome), flush=True)
            violations += [f"{title}: {outcome.name}: {line}" for line in outcome.violations()]
    return violations


def _long(store: str, options: argparse.Namespace) -> list[str]:
    """Run for some minutes on a store, print what happened, and return what was wrong."""
    title = _title(store, options)
    with _folder(options.dir, f"long {title}") as folder:
        found = long_run.run(folder, store, options.long, behind_host=options.aggregated)
    print(f"{title}: {found.summary()}", flush=True)
    return [f"{title}: {line}" for line in found.problems]


def _rounds(name: str, run: Callable[[Path, str, int], Counts], store: str, options: argparse.Namespace) -> list[str]:
    """Kill the servers on a store in every round, print the counts, and return the missed goals."""
    with _folder(options.dir, f"{name} on {store}") as folder:
        found = run(folder, store, options.rounds)
    title = _title(store, options)
    print(f"{title}: {found.summary()}", flush=True)
    return [f"{title}: {line}" for line in found.problems]


def _title(store: str, options: argparse.Namespace) -> str:
    return f"{'apiext behind kube-apiserver' if options.aggregated else 'apiext'} on {store}"


@contextmanager
def _folder(given: Path | None, title: str) -> Iterator[Path]:
    if given is not None:
        folder = given.expanduser().resolve() / title.replace(" ", "-")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise SystemExit(f"hack/soak: {folder} exists: delete it, or name another folder with --dir") from None
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="apiext-soak-") as scratch:
        yield Path(scratch)


if __name__ == "__main__":
    sys.exit(main())
