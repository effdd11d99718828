"""Tests of which files of tests one process runs."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from hack.lib.environments import ROOT

_CONFTEST: Final = """
import os
import pathlib
import pytest
from tests.support import file_groups

HERE = pathlib.Path(__file__).parent

def pytest_xdist_make_scheduler(config, log):
    return file_groups.scheduler(config, log)

@pytest.fixture(autouse=True)
def process(request):
    with HERE.joinpath("log").open("a") as log:
        log.write(f"{request.path.stem} {os.environ['PYTEST_XDIST_WORKER']}\\n")

@pytest.fixture
def cluster():
    pass
"""
_SHARING: Final = "Cluster = object\ndef test_a(cluster: Cluster) -> None: pass\ndef test_b() -> None: pass\n"
_ALONE: Final = "def test_a() -> None: pass\ndef test_b() -> None: pass\ndef test_c() -> None: pass\n"


def test_shares_servers_and_files(tmp_path: Path) -> None:
    """Run in one process all files that use the same servers, and each other file in one."""
    folder = tmp_path / "tests" / "e2e"
    folder.mkdir(parents=True)
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    texts = {"test_a": _SHARING, "test_b": _ALONE, "test_c": _SHARING, "test_d": _ALONE, "test_e": _SHARING}
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)

    settings = tmp_path / "pytest.ini"
    settings.write_text("[pytest]\naddopts = --disable-plugin-autoload -p xdist\n")
    options = f"-q -n 3 --dist loadfile --no-loadscope-reorder -c {settings} -p no:cacheprovider".split()
    command = [sys.executable, "-m", "pytest", *options, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    ran = {tuple(line.split()) for line in (tmp_path / "log").read_text().splitlines()}
    assert len(ran) == len(texts)
    assert len({process for name, process in ran if texts[name] == _SHARING}) == 1
    assert len({process for _, process in ran}) > 1
