"""The HTTP server with the oldest and the newest aiohttp that pyproject.toml allows."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Final

import pytest

from hack.lib import environments

pytestmark = [pytest.mark.slow, pytest.mark.long("requirements-dev.lock", "apiext/server/http")]

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = ("tests/unit/server/http", "tests/integration/test_kubernetes_client.py")
_SECONDS: Final = 240


def _requirement() -> str:
    (found,) = (one for one in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"] if one.startswith("aiohttp"))
    return str(found)


def _floor() -> str:
    match = re.search(r">=([\d.]+)", _requirement())
    assert match
    return match[1]


@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_serves_with_each_aiohttp(age: str) -> None:
    """Pass the tests of the HTTP server. The environments stay in the cache folder."""
    try:
        version = _floor() if age == "oldest" else environments.newest(_requirement())
        if age == "newest" and version == _floor():
            pytest.skip(f"the newest aiohttp is the oldest one that is allowed: {version}")
        python = environments.with_version("aiohttp", version)
    except environments.InstallationError as error:
        pytest.skip(f"no other aiohttp: {error}")
    found = subprocess.run([python, "-c", "import aiohttp; print(aiohttp.__version__)"], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == version

    command: list[str | Path] = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", "not slow", *TESTS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=_SECONDS)

    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
