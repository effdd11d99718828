"""The published packages: built, installed beside the packages of the image only, and served outside the checkout."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from hack.lib import environments, release
from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.waiting import until
from tests.support.builders.crds import crd
from tests.support.clients.client import CRDS

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).resolve().parents[2]
PATH: Final = "/apis/example.com/v1/widgets"
_IMPORT: Final = re.compile(r"^import time:\s*\d+ \|\s*\d+ \|\s*([\w.]+)$", re.MULTILINE)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return the folder `bin` of an environment in which the wheel and the packages of the image are installed."""
    try:
        packages = environments.of_image()
    except environments.InstallationError as error:
        pytest.skip(f"the packages of the image are not there: {error}")
    python = environments.beside(packages, tmp_path / "venv")
    environments.install(python, release.packages(tmp_path / "dist"))
    return python.parent


def test_serves_outside_the_checkout(installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Serve a custom resource from the installed wheel, and import `kubernetes` for no server without a kubeconfig."""
    monkeypatch.chdir(tmp_path)
    place = subprocess.run(
        [installed / "python", "-c", "import apiext; print(apiext.__file__)"], capture_output=True, text=True, check=True
    )
    assert Path(place.stdout.strip()).is_relative_to(installed.parent)
    server = ApiextServer(tmp_path / "server", env={"PYTHONPROFILEIMPORTTIME": "1"})
    server.process.command[:3] = [str(installed / "apiext")]
    server.start()
    try:
        assert server.request("GET", "/readyz", credentials=False)[0] == 200
        status, _, answer = server.request("POST", CRDS, json.dumps(crd()))
        assert status == 201, answer
        until(lambda: server.request("GET", PATH)[0] == 200)
        listed = json.loads(server.request("GET", PATH)[2])
    finally:
        server.stop()

    assert (listed["kind"], listed["items"]) == ("WidgetList", [])
    imported = {name.partition(".")[0] for name in _IMPORT.findall(server.log)}
    assert {"apiext", "aiohttp", "orjson"} <= imported
    assert "kubernetes" not in imported
    assert os.fspath(ROOT) not in server.log
