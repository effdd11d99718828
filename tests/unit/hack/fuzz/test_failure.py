"""Tests what hack/fuzz reports of a run that fails."""

import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hack.lib.fuzz import __main__ as command

_INPUT = b"\xff" * 1000
_PROGRESS = "".join(f"#{number}\tNEW    cov: 45 ft: 176 corp: 44/1606b\n" for number in range(100))


def _fails(_name: str, folder: Path, *_options: Any) -> subprocess.CompletedProcess[str]:
    """Run as a child that finds an input which fails: atheris prints the traceback before libFuzzer ends."""
    (folder / "crash-5bd9").write_bytes(_INPUT)
    error = "ERROR: libFuzzer: fuzz target exited\nTest unit written to ./crash-5bd9\n"
    return subprocess.CompletedProcess([], 77, "\n === Uncaught Python exception: ===\nKeyError: 'a'\n", _PROGRESS + error)


def test_shows_the_error_and_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show the traceback, which the progress of the run must not push out, and the input in the form of the corpus."""
    monkeypatch.setattr(command, "_child", _fails)

    run = command.fuzz("json-body", 1)

    assert (run.inputs, run.edges) == (99, 45)
    assert "KeyError: 'a'" in run.failure
    assert "NEW" not in run.failure
    assert run.failure.splitlines()[-1] == f"input: {base64.b64encode(_INPUT).decode()}"


def test_endless_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Refuse no time, which libFuzzer takes as no end."""
    monkeypatch.setattr(command, "_child", pytest.fail)
    monkeypatch.setattr(sys, "argv", ["hack/fuzz", "--seconds=0"])

    with pytest.raises(SystemExit, match="2"):
        command.main()

    assert "argument --seconds: 0 is less than 1" in capsys.readouterr().err
