"""Chromium for the tests of pages."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from hack.lib.chromium import NoChromiumError, find, provide


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the only folder of the PATH, which is empty; nothing is installed."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("APIEXT_CHROMIUM", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return tmp_path


def _program(path: Path, script: str = "true") -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_finds_it(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Find Chromium on the PATH, and prefer the one that a variable names."""
    with pytest.raises(NoChromiumError, match="no Chromium is installed"):
        find()
    _program(empty / "google-chrome")
    assert find() == str(empty / "google-chrome")
    monkeypatch.setenv("APIEXT_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(NoChromiumError, match="/nowhere/chromium is no program"):
        find()


def test_installs_it_on_debian_only(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the package as root where there is apt-get; give the reason otherwise."""
    with pytest.raises(NoChromiumError, match="chromium is not installed"):
        provide()
    _program(empty / "apt-get", f'[ "$2" = update ] || /bin/cp "$0" {empty}/chromium')
    assert provide() == str(empty / "chromium")
    (empty / "chromium").unlink()
    _program(empty / "apt-get", "exit 100")
    with pytest.raises(NoChromiumError, match="apt-get update failed"):
        provide()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(NoChromiumError, match="chromium is not installed"):
        provide()


def test_says_why_there_is_none(empty: Path) -> None:
    """Print the reason as a command, and succeed: the tests are skipped."""
    done = subprocess.run(
        [shutil.which("python3", path="/usr/bin:/usr/local/bin") or "python3", "-m", "hack.lib.chromium"],
        env={"PATH": str(empty), "APIEXT_CHROMIUM": "none"},
        cwd=Path(__file__).resolve().parents[3],
        capture_output=True,
        text=True,
        check=True,
    )

    assert (done.stdout, done.stderr) == ("", "hack/test: tests of pages are skipped: none is no program\n")
