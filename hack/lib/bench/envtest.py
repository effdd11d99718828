"""Measures envtest and the test kit: how soon a test has a server, its memory, and what must be installed (`hack/bench --envtest`)."""

import json
import os
import platform
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from hack.lib import controllers
from hack.lib.reference import binaries
from hack.lib.servers.process import environment
from hack.lib.servers.resources import process_tree, proportional_mib

_ROOT: Final = Path(__file__).resolve().parents[3]
_CRDS: Final = _ROOT / "crds" / "releases" / "1"
_ROUTE: Final = (
    '{"apiVersion": "net.example.com/v1alpha1", "kind": "Route", "metadata": {"name": "a", "namespace": "default"}, "spec": {"host": "a"}}'
)
_PROGRAMS: Final = ("etcd", "kube-apiserver", "kubectl")
"""What envtest downloads."""
_LABELS: Final = ("start to ready, s", "CRD loaded to first create, s", "start to first create, s", "memory of all processes, MiB")
_MIB: Final = 1 << 20

_FROM_PYTHON: Final = """
import json, sys, time
begin = time.perf_counter()
from apiext.tools.testkit.server import Server
with Server() as server:
    ready = time.perf_counter() - begin
    server.load(sys.argv[1])
    loaded = time.perf_counter() - begin
    server.request("POST", "/apis/net.example.com/v1alpha1/namespaces/default/routes", json.loads(open(sys.argv[2]).read()))
    print(json.dumps({"ready": ready, "loaded": loaded, "created": time.perf_counter() - begin}), flush=True)
    sys.stdin.read()
"""


def main(rounds: int) -> int:
    """Print the table. Rounds alternate, and medians are shown."""
    with tempfile.TemporaryDirectory(prefix="apiext-envtest-") as folder:
        route = Path(folder) / "route.json"
        route.write_text(_ROUTE)
        startup, paths = str(controllers.program("startup")), [str(_CRDS), str(route)]
        assets = environment(KUBEBUILDER_ASSETS=str(binaries.provide(_PROGRAMS)))
        commands: Mapping[str, Sequence[str]] = {
            "envtest": [startup, "envtest", *paths],
            "test kit, from Go": [startup, "apiext", *paths, str(Path(sys.executable).with_name("apiext")), "serve"],
            "test kit, from Python": [sys.executable, "-c", _FROM_PYTHON, *paths],
        }
        found: dict[str, list[list[float]]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                found[name].append(_measure(command, assets))
        sizes = [_envtest_sizes(Path(folder)), _kit_sizes(Path(folder))]
    print(f"{os.cpu_count()} processors, {platform.machine()}, Python {platform.python_version()}; medians of {rounds} rounds")
    print(_table({name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}, sizes))
    return 0


def _measure(command: Sequence[str], env: Mapping[str, str]) -> list[float]:
    """Return the figures of one start, in the order of the labels."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(env), cwd=_ROOT) as process:
        if process.stdout is None:
            raise AssertionError("no output")
        steps = json.loads(process.stdout.readline())
        # threads of the servers end what they began with the first request
        time.sleep(1)
        memory = proportional_mib(process_tree(process.pid)[1:])
    return [steps["ready"], steps["created"] - steps["ready"], steps["created"], memory]


def _envtest_sizes(folder: Path) -> tuple[float, float]:
    """Return the size of the archive of envtest's programs, and of the programs, in MiB."""
    programs = [binaries.bin_folder() / name for name in _PROGRAMS]
    archive = folder / "envtest.tar.gz"
    with tarfile.open(archive, "w:gz") as opened:
        for program in programs:
            opened.add(program, program.name)
    return archive.stat().st_size / _MIB, sum(program.stat().st_size for program in programs) / _MIB


def _kit_sizes(folder: Path) -> tuple[float, float]:
    """Return the size of the wheels of apiext and its dependencies, and of these installed, in MiB."""
    wheels, site = folder / "wheels", folder / "site"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, _ROOT], folder)
    (own,) = wheels.glob("apiext-*.whl")
    _run([*pip, "download", "--only-binary=:all:", "--dest", wheels, own], folder)
    _run([*pip, "install", "--no-index", "--no-compile", "--find-links", wheels, "--target", site, own], folder)
    return _size(wheels), _size(site)


def _run(command: Sequence[str | Path], folder: Path) -> None:
    subprocess.run(command, check=True, cwd=folder)


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / _MIB


def _table(found: Mapping[str, Sequence[float]], sizes: Sequence[tuple[float, float]]) -> str:
    """Return the figures as a Markdown table."""
    numbers: list[Callable[[float], str]] = [lambda seconds: f"{seconds:.2f}"] * 3 + [lambda size: f"{size:,.0f}"]
    rows = [
        [label, *(show(values[place]) for values in found.values())]
        for place, (label, show) in enumerate(zip(_LABELS, numbers, strict=True))
    ]
    for place, label in enumerate(("download, MiB", "installed, MiB")):
        rows.append([label, *(f"{sizes[min(column, 1)][place]:,.0f}" for column in range(len(found)))])
    lines = [["", *found], ["---"] * (len(found) + 1), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
