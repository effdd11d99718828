"""Commands of README.md and crds/README.md do what they say."""

import re
import shlex
from collections.abc import Iterator
from typing import Final

import click
import pytest
from click.testing import CliRunner

from apiext.cli.main import apiext
from apiext.cli.releases.plan import plan
from tests.support.document_commands import ROOT, DocumentCommand, blocks, commands, section

DOCUMENT: Final = "crds/README.md"
CHAPTER: Final = section(DOCUMENT, "Before a release: apiext plan")
STORY: Final = "Five minutes: three releases of a CRD"
OFFLINE: Final = [
    command
    for text in ((ROOT / "README.md").read_text(), section(DOCUMENT, STORY))
    for command in commands(text)
    if command.arguments[:2] in (["apiext", "plan"], ["apiext", "convert"]) and "kubeconfig" not in command.arguments
]
ALL: Final = [
    words
    for name in ("README.md", DOCUMENT)
    for command in commands((ROOT / name).read_text())
    for words in [[word for word in command.arguments if word != "&"]]
    if words[:1] == ["apiext"] and not {"|", ">", "&&"} & {*words}
]


def _plans(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each `apiext plan` in a text of a shell."""
    for line in text.splitlines():
        _, found, rest = line.partition("apiext plan ")
        if found:
            yield shlex.split(rest, comments=True)


@pytest.mark.parametrize("command", OFFLINE, ids=lambda command: " ".join(command.arguments[2:]))
def test_walk_through(command: DocumentCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the commands that need no cluster; they exit and print as the document says."""
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(apiext, command.arguments[1:], standalone_mode=False)

    assert (result.return_value or 0) == command.code, result.output
    if command.output:
        assert command.prints(result.stdout), result.stdout


def test_the_walk_through_has_all_verdicts() -> None:
    """Show a safe release, one with steps, and a breaking one."""
    assert {command.code for command in OFFLINE} == {0, 1, 2}


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_command_lines(words: list[str]) -> None:
    """Name commands, arguments and flags that there are."""
    command: click.Command = apiext
    rest = words[1:]
    while isinstance(command, click.Group):
        command = command.commands[rest.pop(0)]
    command.make_context(words[1], rest)


def test_readme_answers_questions_first() -> None:
    """Begin with questions of users, each with one command and its output; the speed stands before the differences."""
    titles = re.findall(r"^## (.*)", (ROOT / "README.md").read_text(), re.MULTILINE)
    shown = [list(commands(section("README.md", title))) for title in titles[:3]]

    assert all(title.endswith("?") for title in titles[:3])
    assert [(len(found), bool(found[0].output)) for found in shown] == [(1, True)] * 3
    assert titles.index("Servers and clusters") == 3
    assert titles.index("Speed") < titles.index("Differences from kube-apiserver")


def test_flags() -> None:
    """Name flags and formats that the command has."""
    found = [arguments for text in blocks(CHAPTER, "sh") for arguments in _plans(text)]

    assert found
    for arguments in found:
        plan.make_context("plan", arguments)


def test_releases_are_described() -> None:
    """Mention the folder of the example releases, which has three."""
    assert "`crds/releases/`" in (ROOT / DOCUMENT).read_text()
    assert sorted(path.name for path in (ROOT / "crds" / "releases").iterdir()) == ["1", "2", "3", "grades.yaml", "objects"]
