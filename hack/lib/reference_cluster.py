"""The command behind hack/reference-cluster."""

import argparse
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Final

from hack.lib import interruption
from hack.lib.reference import binaries
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.servers.process import ProcessError

_POLL: Final = 0.2
"""Seconds between two checks of kube-apiserver."""


def main(argv: list[str] | None = None) -> int:
    """Start a reference control plane, print how to reach it, and stop it at Ctrl-C or SIGTERM."""
    options = _parser().parse_args(argv)
    interruption.raise_at_once()
    with tempfile.TemporaryDirectory(prefix="apiext-reference-") as scratch:
        folder = Path(scratch) if options.dir is None else options.dir.resolve()
        try:
            _run(folder, options)
        except (binaries.ProvideError, ProcessError) as error:
            print(f"hack/reference-cluster: {error}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("hack/reference-cluster: stopped", file=sys.stderr)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/reference-cluster",
        description="Starts etcd and kube-apiserver on free ports of 127.0.0.1 and stops them at Ctrl-C.",
    )
    parser.add_argument("--dir", type=Path, help="folder for data, logs and kubeconfig (default: a temporary one)")
    parser.add_argument("--etcd-servers", metavar="URL", help="use this etcd instead of starting one")
    parser.add_argument("--etcd-prefix", default="/registry", help="prefix of all keys (default: %(default)s)")
    parser.add_argument("--controller-manager", action="store_true", help="start kube-controller-manager too")
    parser.add_argument("apiserver_args", nargs="*", metavar="-- FLAG", help="more flags for kube-apiserver")
    return parser


def _run(folder: Path, options: argparse.Namespace) -> None:
    wanted = ["etcd", "kube-apiserver", "kubectl"]
    if options.controller_manager:
        wanted.append("kube-controller-manager")
    programs = binaries.provide(wanted, progress=lambda line: print(line, file=sys.stderr, flush=True))
    interruption.raise_in_sleep()
    plane = ControlPlane(
        folder,
        etcd_url=options.etcd_servers,
        etcd_prefix=options.etcd_prefix,
        controller_manager=options.controller_manager,
        extra_args=options.apiserver_args,
    )
    with plane:
        _describe(plane, programs)
        while plane.apiserver.running:
            interruption.sleep(_POLL)
        raise ProcessError(f"kube-apiserver exited: {plane.apiserver.tail()}")


def _describe(plane: ControlPlane, programs: Path) -> None:
    rows = {
        "server": plane.url,
        "etcd": f"{plane.etcd_url} (prefix {plane.etcd_prefix})",
        "folder": plane.folder,
        "next": f"{shlex.quote(str(programs / 'kubectl'))} get namespaces",
    }
    print(f"export KUBECONFIG={shlex.quote(str(plane.kubeconfig))}")
    for name, value in rows.items():
        print(f"# {name:8}{value}")
    print("# Ctrl-C stops it.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
