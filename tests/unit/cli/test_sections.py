"""The help of groups and of commands with many options."""

import os
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from apiext.cli.flags import SECTIONS
from apiext.cli.main import apiext
from apiext.cli.sections import SectionedGroup
from apiext.cli.serve import serve

WIDTH = 80


def _groups(group: click.Command, *names: str) -> Iterator[tuple[str, ...]]:
    if isinstance(group, click.Group):
        yield names
        for name, command in group.commands.items():
            yield from _groups(command, *names, name)


def _help(*names: str, width: int = WIDTH) -> str:
    return CliRunner().invoke(apiext, [*names, "--help"], prog_name="apiext", terminal_width=width).stdout


@pytest.mark.parametrize("names", list(_groups(apiext)), ids=" ".join)
def test_summaries_are_whole_lines(names: tuple[str, ...]) -> None:
    """List each command that is not hidden with its whole summary in one line of a small terminal."""
    group: click.Command = apiext
    for name in names:
        assert isinstance(group, click.Group)
        group = group.commands[name]
    assert isinstance(group, SectionedGroup)
    lines = [" ".join(line.split()) for line in _help(*names).splitlines()]

    shown = {name: command for name, command in group.commands.items() if not command.hidden}
    assert [name for name, command in shown.items() if f"{name} {command.get_short_help_str(1000)}" not in lines] == []


def test_commands_are_in_groups() -> None:
    """List the commands by what they are for."""
    titles = [line.removesuffix(":") for line in _help().splitlines() if line.endswith(":") and not line.startswith(" ")]

    assert titles == ["Options", "Serve", "For authors of CRDs", "For operators of servers and clusters", "Repair"]


def test_a_narrow_terminal_wraps() -> None:
    """Cut nothing where a summary is longer than a line."""
    assert "..." not in _help(width=50).partition("Serve:")[2]


def test_options_are_in_sections() -> None:
    """List each option of `serve` once, below the title of its section, and the help last."""
    text = _help("serve", width=200)
    titles = [line.removesuffix(":") for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    listed = [line.split()[0] for line in text.splitlines() if line.startswith("  -")]

    assert titles == [*SECTIONS, "Other options"]
    assert len(listed) == len(set(listed)) == len(serve.params)
    assert "  --watch-cache[=BOOL]" in text


@pytest.mark.parametrize(
    "words, completed", [("apiext pl", "plan"), ("apiext serve --secure", "--secure-port"), ("apiext convert in", "init")]
)
def test_completes_words(words: str, completed: str) -> None:
    """Answer the script that `_APIEXT_COMPLETE=bash_source apiext` prints."""
    asked = {"_APIEXT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([sys.executable, "-m", "apiext"], env=os.environ | asked, capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == (f"plain,{completed}\n", "")
