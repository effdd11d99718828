"""Tests the flags of hack/soak."""

import sys
from pathlib import Path

import pytest

from hack.lib.soak import __main__ as command


@pytest.mark.parametrize(
    "flags, message",
    [
        (["--long=0"], "argument --long: 0 is no length of a run"),
        (["--long=-1"], "argument --long: -1 is no length of a run"),
        (["--long=nan"], "argument --long: nan is no length of a run"),
        (["--crash", "--rounds=0"], "argument --rounds: 0 is less than 1"),
        (["--crash", "--aggregated"], "--aggregated is not possible with --crash"),
    ],
)
def test_runs_that_prove_nothing(
    flags: list[str], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Refuse flags with which another run than the named one, or none, would meet all goals."""
    monkeypatch.setattr(command, "_run", lambda *_args: [])
    monkeypatch.setattr(sys, "argv", ["hack/soak", *flags])

    with pytest.raises(SystemExit, match="2"):
        command.main()

    assert message in capsys.readouterr().err


def test_a_folder_of_a_former_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the folder of a former run as it is."""
    former = tmp_path / "crash-on-sqlite"
    former.mkdir()
    monkeypatch.setattr(sys, "argv", ["hack/soak", "--crash", "--store=sqlite", f"--dir={tmp_path}"])

    with pytest.raises(SystemExit, match=f"{former} exists: delete it, or name another folder with --dir"):
        command.main()
