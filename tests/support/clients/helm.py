"""Runs the real Helm with the chart of this repository."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from hack.lib.chart.templates import CHART
from hack.lib.clients import catalog, packages
from hack.lib.manifests import NAMESPACE, Document
from hack.lib.servers.process import environment

RELEASE: Final = "apiext"
_TIMEOUT: Final = 120.0


class Helm:
    """Helm with files of its own in a folder.

    Raises:
        UnavailableError: from the constructor, if Helm cannot be had on this machine.
    """

    def __init__(self, folder: Path, kubeconfig: Path | None = None, package: tuple[str, str] = catalog.HELM_4) -> None:
        self._program = packages.helm(*package)
        self._folder = folder
        homes = {f"HELM_{name}_HOME": str(folder / name.lower()) for name in ("CACHE", "CONFIG", "DATA")}
        self._environment = environment(HOME=str(folder), KUBECONFIG=str(kubeconfig or ""), **homes)

    def run(self, *arguments: str, values: Mapping[str, Any] | None = None, namespace: str = NAMESPACE) -> subprocess.CompletedProcess[str]:
        """Run a command and return the completed process, whatever its exit code."""
        command: list[str | Path] = [self._program, *arguments, "--namespace", namespace]
        if values is not None:
            file = self._folder / "values.json"
            file.write_text(json.dumps(values))
            command += ["--values", file]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False)

    def __call__(self, *arguments: str, values: Mapping[str, Any] | None = None, namespace: str = NAMESPACE) -> str:
        """Run a command, which must succeed, and return its output."""
        done = self.run(*arguments, values=values, namespace=namespace)
        assert done.returncode == 0, f"helm {' '.join(arguments)}: {done.stderr or done.stdout}"
        return done.stdout

    def documents(self, values: Mapping[str, Any], namespace: str = NAMESPACE) -> list[Document]:
        """Return the objects of the chart with values."""
        text = self("template", RELEASE, str(CHART), values=values, namespace=namespace)
        return [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]

    def refused(self, values: Mapping[str, Any]) -> str:
        """Return why the chart refuses values."""
        done = self.run("template", RELEASE, str(CHART), values=values)
        assert done.returncode != 0, done.stdout
        return done.stderr
