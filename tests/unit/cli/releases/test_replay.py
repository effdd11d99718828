"""Flags of `apiext replay`. Replays themselves are tested with their server, in tests/integration."""

from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from apiext.cli.main import apiext
from apiext.cli.releases.verdict_command import FAILURE, VerdictCommandFailure

TEAMS: Final = "crds/examples/teams.yaml"


@pytest.mark.parametrize(
    "arguments,problem",
    [
        ([], "Missing argument"),
        ([TEAMS, "-o", "xml"], "-o: 'xml' is none of text, json, junit"),
        ([TEAMS, "--webhook-ca-file", "x"], "--webhook-ca-file needs --webhook-url"),
        ([TEAMS, "--webhook-url", "http://x"], "--webhook-url: 'http://x' does not begin with https://"),
        (
            [TEAMS, "--webhook-url", "https://x", "--webhook-ca-file", "/nowhere"],
            "--webhook-ca-file: /nowhere: No such file",
        ),
        ([TEAMS, "--service-address", "x"], "--service-address: 'x' is not NAMESPACE/NAME=HOST:PORT"),
        (["nowhere"], "'nowhere' names nothing that exists"),
        (["crds/samples"], "there are no CRDs in crds/samples"),
        ([TEAMS], "/nowhere is not a recording: No such file"),
    ],
)
def test_failures(monkeypatch: pytest.MonkeyPatch, arguments: list[str], problem: str) -> None:
    """Exit with 3 and one line, if there is nothing to replay."""
    monkeypatch.chdir(Path(__file__).resolve().parents[4])

    done = CliRunner().invoke(apiext, ["replay", "/nowhere", *arguments], standalone_mode=False)

    assert isinstance(done.exception, VerdictCommandFailure), done.exception
    assert done.exception.exit_code == FAILURE
    assert problem in done.exception.format_message()
