"""The rows that `hack/bench --only` names."""

import sys

import pytest

from hack.lib.bench import __main__ as command
from hack.lib.bench import envtest, loadgen


@pytest.mark.parametrize(
    "flags, rows",
    [
        ([], "'create', 'get', 'get of what is missing'"),
        (["--audit"], "the rows are 'get', 'create'\n"),
        (["--workers=2"], "'get', 'get, resourceVersion=0', 'list of all'"),
        (["--plot=growth.svg"], "the rows are fixed"),
        (["--envtest"], "the rows are fixed"),
    ],
)
def test_unknown_row(flags: list[str], rows: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Refuse a row that is not measured, before anything is built, and name those that are."""
    monkeypatch.setattr(loadgen, "build", pytest.fail)
    monkeypatch.setattr(envtest, "main", pytest.fail)
    monkeypatch.setattr(sys, "argv", ["hack/bench", *flags, "--only", "gett"])

    with pytest.raises(SystemExit, match="2"):
        command.main()

    shown = capsys.readouterr().err
    assert "unknown row 'gett'" in shown
    assert rows in shown


def test_rows_that_are_left_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Refuse a row that the other flags leave out."""
    monkeypatch.setattr(loadgen, "build", pytest.fail)
    monkeypatch.setattr(sys, "argv", ["hack/bench", "--migrate=0", "--only=migration"])

    with pytest.raises(SystemExit, match="2"):
        command.main()

    assert "unknown row 'migration'" in capsys.readouterr().err
