"""The chapter on plans in crds/README.md: its commands, its workflow and its hook do what they say."""

import shlex
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from apiext.cli.main import apiext
from apiext.cli.releases.plan import plan
from tests.support.document_commands import ROOT, DocumentCommand, blocks, commands, section

DOCUMENT: Final = "crds/README.md"
CHAPTER: Final = section(DOCUMENT, "Before a release: apiext plan")
OFFLINE: Final = [
    command
    for command in commands(section(DOCUMENT, "Three releases of a CRD"))
    if command.arguments[:2] == ["apiext", "plan"] and "kubeconfig" not in command.arguments
]


def _plans(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each `apiext plan` in a text of a shell, a workflow or a hook."""
    for line in text.replace("\n          --", " --").splitlines():
        _, found, rest = line.partition("apiext plan ")
        if found:
            yield shlex.split(rest.replace("${{ github.base_ref }}", "main"), comments=True)


@pytest.mark.parametrize("command", OFFLINE, ids=lambda command: " ".join(command.arguments[2:]))
def test_walk_through(command: DocumentCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands that need no cluster; they exit and print as the document says."""
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(apiext, command.arguments[1:], standalone_mode=False)

    assert result.return_value == command.code, result.output
    if command.output:
        assert result.stdout == command.output


def test_the_walk_through_has_all_verdicts() -> None:
    """Show a safe release, one with steps, and a breaking one."""
    assert {command.code for command in OFFLINE} == {0, 1, 2}


@pytest.mark.parametrize("language", ["sh", "yaml"])
def test_flags(language: str) -> None:
    """Name flags and formats that the command has."""
    found = [arguments for text in blocks(CHAPTER, language) for arguments in _plans(text)]

    assert found
    for arguments in found:
        # a hook gets its files from pre-commit
        plan.make_context("plan", [*arguments, "file"])


def test_workflow_and_hook_are_valid() -> None:
    """Be YAML with the parts that GitHub and pre-commit want."""
    workflow, hook = map(yaml.safe_load, blocks(CHAPTER, "yaml"))
    steps: list[dict[str, Any]] = workflow["jobs"]["plan"]["steps"]

    assert steps[0]["with"] == {"fetch-depth": 0}
    assert "apiext plan" in steps[-1]["run"]
    assert "\n" not in steps[-1]["run"]
    assert set(hook["repos"][0]["hooks"][0]) >= {"id", "name", "language", "entry", "files"}


def test_releases_are_described() -> None:
    """Mention the folder of the example releases, which has three."""
    assert "`crds/releases/`" in (ROOT / DOCUMENT).read_text()
    assert sorted(path.name for path in (ROOT / "crds" / "releases").iterdir()) == ["1", "2", "3", "grades.yaml", "objects"]
