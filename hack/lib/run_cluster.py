"""The command behind hack/run --cluster."""

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from hack.lib import interruption
from hack.lib.reference import binaries
from hack.lib.servers.aggregated_cluster import CRDS, NAMESPACE, SELECTOR, SERVICE, AggregatedCluster
from hack.lib.servers.process import Process, ProcessError
from hack.lib.waiting import until

_ROOT: Final = Path(__file__).resolve().parents[2]
_SAMPLE: Final = _ROOT / "crds" / "examples" / "fleets.yaml"
_PROGRAMS: Final = ("etcd", "etcdctl", "kube-apiserver", "kube-controller-manager", "kubectl")
_SERVED_WITHIN: Final = 90.0
"""Seconds from the creation of the sample definition until the host proxies it to apiext."""
_POLL: Final = 0.2
"""Seconds between two checks of the programs."""


class RunError(Exception):
    """The cluster cannot be started; the message is one line with the reason."""


def main(argv: list[str] | None = None) -> int:
    """Start a cluster with apiext in it, print the commands to try, and stop it at Ctrl-C or SIGTERM."""
    options = _parser().parse_args(argv)
    interruption.raise_at_once()
    try:
        with _folder(options.dir) as folder:
            _run(folder)
    except (RunError, binaries.ProvideError, ProcessError, AssertionError, OSError) as error:
        print(f"hack/run: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        _say("stopped")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hack/run --cluster",
        description=(
            "Starts etcd, kube-apiserver, kube-controller-manager, apiext with an etcd of its own and its operator on 127.0.0.1, "
            f"makes apiext serve {_SAMPLE.relative_to(_ROOT)}, and stops everything at Ctrl-C."
        ),
    )
    parser.add_argument("--dir", type=Path, help="new folder for data, logs and kubeconfig, which is kept (default: a temporary one)")
    return parser


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given is None:
        with tempfile.TemporaryDirectory(prefix="apiext-cluster-") as scratch:
            yield Path(scratch)
        return
    folder = given.expanduser().resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise RunError(f"--dir: {folder} is not empty; name a new folder")
    yield folder


def _run(folder: Path) -> None:
    begin = time.monotonic()
    programs = binaries.provide(_PROGRAMS, progress=_say)
    interruption.raise_in_sleep()
    cluster = AggregatedCluster(folder, selector=SELECTOR, host_etcd=True, progress=_say)
    with cluster:
        name = f"{_SAMPLE.relative_to(_ROOT)}"
        _say(f"waiting until apiext serves {name}")
        crd = _load(cluster)
        _wait_until_served(cluster, crd, name)
        print(_welcome(cluster, crd, programs, time.monotonic() - begin), flush=True)
        while True:
            _check(cluster)
            interruption.sleep(_POLL)


def _load(cluster: AggregatedCluster) -> dict[str, Any]:
    """Create the sample definition with the label that selects apiext."""
    crd: dict[str, Any] = yaml.safe_load(_SAMPLE.read_bytes())
    label, _equals, value = SELECTOR.partition("=")
    crd["metadata"].setdefault("labels", {})[label] = value
    cluster.host.must("POST", CRDS, crd)
    return crd


def _served(cluster: AggregatedCluster, crd: dict[str, Any]) -> bool:
    """Report whether the host proxies every served version of the definition to apiext."""
    names = [f"{version['name']}.{crd['spec']['group']}" for version in crd["spec"]["versions"] if version["served"]]
    return all(map(cluster.proxied, names))


def _wait_until_served(cluster: AggregatedCluster, crd: dict[str, Any], name: str) -> None:
    """Wait until the host proxies the definition to apiext.

    Raises:
        ProcessError: A program exited.
        RunError: The definition is not served in time.
    """

    def served() -> bool:
        _check(cluster)
        return _served(cluster, crd)

    try:
        until(served, name, patience=_SERVED_WITHIN)
    except AssertionError as error:
        raise RunError(f"{name} is not served after {_SERVED_WITHIN:.0f} s: {cluster.operator.process.tail()}") from error


def _check(cluster: AggregatedCluster) -> None:
    """Raise ProcessError if a program of the cluster exited."""
    parts = {"kube-apiserver": cluster.plane.apiserver, "apiext": cluster.apiext.process, "the operator": cluster.operator.process}
    etcds: dict[str, Process] = {"apiext's etcd": cluster.etcd.process}
    for name, process in (parts | etcds).items():
        if not process.running:
            raise ProcessError(f"{name} exited: {process.tail()}")


def _welcome(cluster: AggregatedCluster, crd: dict[str, Any], programs: Path, seconds: float) -> str:
    names, keys = crd["spec"]["names"], f"/registry/{crd['spec']['group']}/"
    etcdctl = "etcdctl get --prefix --keys-only {} --endpoints={}"
    doctor = f"{Path(sys.executable).with_name('apiext')} doctor --server={cluster.apiext.url} --service={NAMESPACE}/{SERVICE}"
    path = [] if shutil.which("kubectl") and shutil.which("etcdctl") else [f"export PATH={shlex.quote(str(programs))}:$PATH"]
    label = SELECTOR.partition("=")[0]
    lines = [
        f"A cluster is ready ({seconds:.0f} s) in which apiext serves {names['plural']}.{crd['spec']['group']}. Ctrl-C stops it.",
        "",
        *(f"  {line}" for line in [*path, f"export KUBECONFIG={shlex.quote(str(cluster.plane.kubeconfig))}"]),
        "",
        f"  kubectl apply -f {_ROOT / 'crds' / 'samples' / _SAMPLE.name}",
        f"  kubectl get {names['plural']}",
        f"  kubectl explain {names['singular']}.spec",
        f"  kubectl edit {names['singular']} web",
        f"  kubectl get {names['plural']} --watch",
        "",
        "The objects are in apiext's etcd, and none is in the cluster's:",
        f"  {etcdctl.format(keys, cluster.etcd.url)}",
        f"  {etcdctl.format(keys, cluster.plane.etcd_url)}",
        "",
        "Each hop of a request from the cluster to apiext, checked:",
        f"  {doctor}",
        "",
        "The definition with its objects, handed back to the cluster and adopted again:",
        f"  kubectl label crd {crd['metadata']['name']} {label}-",
        f"  kubectl label crd {crd['metadata']['name']} {SELECTOR}",
        "",
        f"Logs and data are in {cluster.folder}.",
    ]
    return "\n".join(lines)


def _say(line: str) -> None:
    print(f"hack/run: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
