"""Write the tables of command line flags in the documents from the commands themselves: `python -m hack.lib.flag_tables`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from apiext.cli.backup import backup
from apiext.cli.conversions.serve import serve as serve_conversions
from apiext.cli.doctor import doctor
from apiext.cli.get_stored import get_stored
from apiext.cli.operate import operate
from apiext.cli.reencrypt import reencrypt
from apiext.cli.releases.explain import explain
from apiext.cli.releases.plan import plan
from apiext.cli.releases.record import record
from apiext.cli.restore import restore
from apiext.cli.sections import SectionedCommand
from apiext.cli.serve import serve
from apiext.cli.versions import versions

DOCUMENT: Final = Path(__file__).resolve().parents[2] / "manifests" / "README.md"
COMMANDS: Final = {
    "serve": serve,
    "operate": operate,
    "convert-serve": serve_conversions,
    "doctor": doctor,
    "explain": explain,
    "versions": versions,
    "get-stored": get_stored,
    "backup": backup,
    "restore": restore,
    "reencrypt": reencrypt,
    "record": record,
    "plan": plan,
}
_TABLE: Final = re.compile(r"(<!-- flags: ([\w-]+) -->\n).*?(<!-- /flags -->)", re.DOTALL)


def with_tables(text: str) -> str:
    """Return the document with its tables of flags brought up to date."""
    return _TABLE.sub(lambda found: f"{found[1]}{table(COMMANDS[found[2]])}{found[3]}", text)


def table(command: click.Command) -> str:
    """Return a command's flags as a Markdown table, in the order of `--help` and with its titles."""
    titles = {options[0].name: title for title, options in command.sections.items()} if isinstance(command, SectionedCommand) else {}
    rows = []
    for option in _flags(command):
        rows += [f"| **{titles[option.name]}** | |"] if option.name in titles else []
        rows.append(f"| {_names(option)} | {(option.help or '').replace('|', chr(92) + '|')} |")
    return "\n".join(["| flag | meaning |", "| --- | --- |", *rows, ""])


def _flags(command: click.Command) -> Iterator[click.Option]:
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden and option.name != "help":
            yield option


def _names(option: click.Option) -> str:
    long = [name for name in [*option.opts, *option.secondary_opts] if name.startswith("--")]
    short = [name for name in option.opts if not name.startswith("--")]
    metavar = "" if option.is_flag or not option.metavar else option.metavar
    joined = metavar if metavar.startswith("[") else f" {metavar}" if metavar else ""
    return ", ".join([f"`{long[0]}{joined}`", *(f"`{name}`" for name in [*long[1:], *short])])


if __name__ == "__main__":
    DOCUMENT.write_text(with_tables(DOCUMENT.read_text()))
