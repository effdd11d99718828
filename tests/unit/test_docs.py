"""The documents name what is there."""

import re
from pathlib import Path
from typing import Final

import click
import pytest

from apiext.cli.doctor import doctor
from apiext.cli.operate import operate
from apiext.cli.serve import serve

ROOT: Final = Path(__file__).resolve().parents[2]
README: Final = (ROOT / "README.md").read_text()


def _flags(command: click.Command) -> list[click.Option]:
    return [option for option in command.params if isinstance(option, click.Option) and not option.hidden and option.name != "help"]


@pytest.mark.parametrize("command,mark", [(serve, "flags"), (operate, "operate-flags"), (doctor, "doctor-flags")])
def test_every_flag_is_in_the_readme(command: click.Command, mark: str) -> None:
    """The table of a command's flags has each flag once, in the order of --help, and no other."""
    table = README.partition(f"<!-- {mark} -->")[2].partition(f"<!-- /{mark} -->")[0]

    assert re.findall(r"^\| `(--[a-z-]+)", table, re.MULTILINE) == [option.opts[-1] for option in _flags(command)]


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\b((?:hack|crds|manifests)/[A-Za-z./-]+[a-z])", README))))
def test_what_the_readme_names_exists(path: str) -> None:
    """A command or folder that the README names is there."""
    assert (ROOT / path).exists()
