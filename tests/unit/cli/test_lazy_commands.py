"""Commands that are imported when they are used."""

import subprocess
import sys

import click
import pytest

from apiext.cli.lazy_commands import LazyCommands
from apiext.cli.main import apiext


def test_every_command_is_there_under_its_name() -> None:
    """Import each command of the program; its own name is the one under which it is found."""
    assert {name: command.name for name, command in apiext.commands.items()} == {name: name for name in apiext.commands}
    assert "serve" in apiext.commands
    assert len(apiext.commands) > 10


def test_a_command_does_not_import_the_others() -> None:
    """Import `serve` alone when it is run."""
    program = "import sys; from apiext.cli.main import apiext; apiext.commands['serve']; print('apiext.cli.doctor' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip() == "False"


def test_is_a_mapping() -> None:
    """Add, replace and remove commands, and refuse what is none."""
    commands = LazyCommands({"serve": "apiext.cli.serve", "main": "apiext.cli.main"})
    own = click.Command("own")
    commands["own"] = own
    assert (commands["own"], len(commands), list(commands)) == (own, 3, ["serve", "main", "own"])
    assert commands["serve"] is apiext.commands["serve"]

    del commands["own"]

    with pytest.raises(KeyError):
        commands["own"]
    with pytest.raises(TypeError, match=r"apiext\.cli\.main: main is not a command"):
        commands["main"]
