"""The command behind hack/clients: runs clients of other projects against kube-apiserver and apiext and compares what they saw."""

import argparse
import sys
import tempfile
from pathlib import Path

from hack.lib import interruption
from hack.lib.clients import catalog, packages
from hack.lib.clients.servers import Servers
from hack.lib.reference import binaries
from hack.lib.servers.process import ProcessError


def main(argv: list[str] | None = None) -> int:
    """Run the chosen clients, print a line for each, and return 1 if a transcript differs."""
    options = _parser().parse_args(argv)
    interruption.raise_at_once()
    try:
        binaries.provide(["etcd", "kube-apiserver", "kubectl"], progress=_say)
        with tempfile.TemporaryDirectory(prefix="apiext-clients-") as folder, Servers(Path(folder)) as servers:
            equal = [_compare(servers, name, verbose=options.verbose) for name in options.client or catalog.CLIENTS]
    except (binaries.ProvideError, ProcessError) as error:
        print(f"hack/clients: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("hack/clients: interrupted", file=sys.stderr)
        return 130
    return 0 if all(equal) else 1


def _compare(servers: Servers, name: str, *, verbose: bool) -> bool:
    """Run one client and print how its transcripts compare; return False if they differ."""
    try:
        command = catalog.CLIENTS[name]()
    except packages.UnavailableError as error:
        print(f"{name:28}skipped: {error}", flush=True)
        return True
    reference, apiext = servers.transcripts(name, command).values()
    if verbose:
        print(*reference.lines, sep="\n")
    differences = reference.differences(apiext) or reference.failure.splitlines()
    verdict = "FAILED on kube-apiserver" if reference.failure else "DIFFERENT" if differences else "equal"
    print(f"{name:28}{verdict}, {len(reference.lines)} answers", *differences, sep="\n", flush=True)
    return not differences


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/clients",
        description="Runs clients of other projects against kube-apiserver and apiext. Fails if their transcripts differ.",
    )
    names = ", ".join(catalog.CLIENTS)
    parser.add_argument("client", nargs="*", choices=[[], *catalog.CLIENTS], metavar="CLIENT", help=f"which (default: all): {names}")
    parser.add_argument("--verbose", action="store_true", help="print the reference's transcripts")
    return parser


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
