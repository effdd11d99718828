"""apiext on the other Pythons that pyproject.toml allows, as far as this machine has them."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import pytest

from hack.lib import environments, interpreters
from hack.lib.environments import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RUNNING: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
SAMPLE: Final = (
    "tests/unit/base/workers",
    "tests/unit/base/scheduling",
    "tests/integration/test_kubernetes_client.py",
    "tests/integration/testkit/test_pytest_plugin.py",
    "tests/differential/writes/test_core_writes.py",
    "tests/differential/schema/test_ratcheting.py",
)
"""Processes and the event loop, clients, the test kit, and a sample of the comparison with kube-apiserver."""
VERSIONS: Final = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))


@pytest.fixture(params=[version for version in VERSIONS if version != RUNNING])
def python(request: pytest.FixtureRequest) -> Path:
    """Return another Python with all packages of the tests, in the versions of the lock."""
    found = interpreters.find(request.param)
    if found is None:
        pytest.skip(f"no Python {request.param} is installed")
    try:
        return environments.of_lock("tests", ROOT / "requirements-dev.lock", interpreter=found)
    except environments.InstallationError as error:
        pytest.skip(f"the packages are not there: {error}")


def _pass(python: Path, folder: Path, *arguments: str) -> None:
    options = f"-q -n 0 -p no:cacheprovider --basetemp={folder / 'inner'}".split()
    command: list[str | Path] = [python, "-m", "pytest", *options, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]


@pytest.mark.long("requirements-dev.lock", "hack/lib/interpreters.py", "hack/lib/environments.py")
def test_a_sample_passes(python: Path, tmp_path: Path) -> None:
    """Pass the sample, with warnings as errors."""
    _pass(python, tmp_path, *SAMPLE)


def test_declares_no_other() -> None:
    """Refuse the Pythons before the oldest and after the newest one that has a classifier."""
    minors = [int(version.removeprefix("3.")) for version in VERSIONS]

    assert minors == list(range(minors[0], minors[-1] + 1))
    assert PROJECT["requires-python"] == f">=3.{minors[0]},<3.{minors[-1] + 1}"
