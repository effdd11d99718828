"""Runs pytest with the plugin, as the author of an operator does."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).resolve().parents[3]
RELEASES: Final = ROOT / "crds" / "releases"


@dataclass(frozen=True)
class InnerRun:
    """The output of a run of pytest."""

    output: str

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of the last line: passed, failed, error."""
        last = self.output.rstrip().splitlines()[-1]
        return {kind.removesuffix("s"): int(number) for number, kind in re.findall(r"(\d+) (passed|failed|errors?)", last)}


def run_pytest(folder: Path, base: Path, *arguments: str) -> InnerRun:
    """Run pytest in a folder with no other plugin than that of the test kit. Its temporary files are in the folder `base`."""
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    environment = {name: text for name, text in environment.items() if name not in {"KUBECONFIG", "PYTEST_ADDOPTS"}}
    command = [sys.executable, "-m", "pytest", "-p", "apiext.tools.testkit.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [*command, f"--basetemp={base}", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return InnerRun(done.stdout + done.stderr)


@pytest.fixture
def inner_run(tmp_path: Path) -> Callable[..., InnerRun]:
    """Return a function that writes a test file and perhaps a pytest.ini, and runs them. The releases of crds/ are beside them."""
    (tmp_path / "releases").symlink_to(RELEASES)

    def run(tests: str, *arguments: str, ini: str = "") -> InnerRun:
        (tmp_path / "test_inner.py").write_text(tests)
        (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers =\naddopts = --strict-markers\n{ini}")
        return run_pytest(tmp_path, tmp_path / "inner", "-W", "error", *arguments)

    return run
