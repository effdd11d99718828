"""Commands that start servers, and get SIGTERM."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from hack.lib.waiting import until
from tests.support.document_commands import ROOT

_PATIENCE: Final = 60.0
RELEASES: Final = ROOT / "crds" / "releases"


def _command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "apiext", *map(str, arguments)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    return folder


@contextmanager
def _running(folder: Path, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    settings: dict[str, Any] = {"cwd": ROOT, "env": os.environ | {"TMPDIR": str(folder)}, "start_new_session": True, "text": True}
    process = subprocess.Popen(_command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, **settings)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(text) for text in path.read_text().split()] if path.exists() else []


def _is_alive(process: int) -> bool:
    return Path(f"/proc/{process}").exists()


@pytest.mark.parametrize("command", ["test", "replay"])
def test_sigterm_leaves_nothing(command: str, folder: Path, tmp_path: Path) -> None:
    """End a command whose first process has just started: no traceback, no process and no temporary file is left."""
    archive = tmp_path / "recording.tar.gz"
    subprocess.run(_command("record", archive, "--from", RELEASES / "1"), cwd=ROOT, check=True, capture_output=True)
    arguments = {"test": [ROOT / "crds" / "suites"], "replay": [archive, RELEASES / "2"]}[command]
    with _running(folder, command, *arguments) as process:
        until(lambda: bool(_children(process.pid)), "a process of the command")
        started = _children(process.pid)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=_PATIENCE)
    until(lambda: not any(map(_is_alive, started)), "the end of its processes")

    assert process.returncode in {2, 130}, errors
    assert "Traceback" not in errors
    assert list(folder.iterdir()) == []
