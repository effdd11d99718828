"""Provides the install manifests of real operators, from their Go modules."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.lib.reference import binaries, golang
from hack.lib.reference.binaries import MODULE, cache_folder

_DOWNLOAD_SECONDS: Final = 120


class UnavailableManifestError(Exception):
    """A manifest cannot be provided; the message is one line with the reason."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator: its module, and a manifest or a folder with a kustomization in it."""

    module: str
    path: str
    namespace: str
    """The namespace of the manifest, or the one to install it in."""


OPERATORS: Final[Mapping[str, Operator]] = {
    "argo-rollouts": Operator("github.com/argoproj/argo-rollouts@v1.8.0", "manifests/install.yaml", "argo-rollouts"),
    "jobset": Operator("sigs.k8s.io/jobset@v0.7.3", "config/default", "jobset-system"),
    "lws": Operator("sigs.k8s.io/lws@v0.5.1", "config/default", "lws-system"),
}


def manifest(name: str) -> str:
    """Return the manifest of an operator; download its module into the cache of Go at first.

    Raises:
        UnavailableManifestError: there is no Go toolchain, or the proxy does not give the module.
    """
    operator = OPERATORS[name]
    place = module_folder(operator.module) / operator.path
    if place.is_file():
        return place.read_text()
    kustomized = subprocess.run([binaries.binary("kubectl"), "kustomize", place], capture_output=True, text=True, check=True)
    return kustomized.stdout


def module_folder(module: str) -> Path:
    """Return the folder of a module and version in the cache of Go; download it at first.

    Raises:
        UnavailableManifestError: there is no Go toolchain, or the proxy does not give the module.
    """
    try:
        go = golang.toolchain(MODULE, cache_folder(), lambda text: print(text, file=sys.stderr))
    except golang.BuildError as error:
        raise UnavailableManifestError(str(error)) from error
    command: list[str | Path] = [go, "mod", "download", "-json", module]
    try:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=_DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise UnavailableManifestError(f"{module}: not downloaded within {_DOWNLOAD_SECONDS} s") from error
    found = json.loads(done.stdout or "{}")
    if "Dir" not in found:
        raise UnavailableManifestError(f"{module}: {found.get('Error', done.stderr).strip()}")
    return Path(found["Dir"])


def main() -> int:
    """Print the manifest of an operator."""
    names = ", ".join(OPERATORS)
    if len(sys.argv) != 2 or sys.argv[1] not in OPERATORS:
        print(f"usage: hack/operator-manifest NAME (one of {names})", file=sys.stderr)
        return 2
    try:
        print(manifest(sys.argv[1]))
    except UnavailableManifestError as error:
        print(f"hack/operator-manifest: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
