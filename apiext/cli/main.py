"""The `apiext` command."""

from __future__ import annotations

import sys
from typing import Final, NoReturn

import click

from apiext import __version__
from apiext.cli.lazy_commands import LazyCommands

_COMMANDS: Final = LazyCommands(
    {
        "serve": "apiext.cli.serve",
        "operate": "apiext.cli.operate",
        "doctor": "apiext.cli.doctor",
        "versions": "apiext.cli.versions",
        "get-stored": "apiext.cli.get_stored",
        "rescue": "apiext.cli.rescue",
        "backup": "apiext.cli.backup",
        "restore": "apiext.cli.restore",
        "plan": "apiext.cli.releases.plan",
        "explain": "apiext.cli.releases.explain",
        "record": "apiext.cli.releases.record",
        "replay": "apiext.cli.releases.replay",
        "test": "apiext.cli.suites.test",
        "convert": "apiext.cli.conversions.convert",
    }
)


@click.group(commands=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def apiext() -> None:
    """Serve the custom resources of CustomResourceDefinitions as a Kubernetes API server of its own."""


@apiext.command()
def version() -> None:
    """Print the version."""
    from apiext.server.routes.version import GIT_VERSION

    click.echo(f"apiext {__version__} (serves Kubernetes {GIT_VERSION})")


def main() -> NoReturn:
    """Run the command. Print one line for each problem, and exit with a code other than 0."""
    try:
        code = apiext.main(prog_name="apiext", standalone_mode=False)
    except click.exceptions.Abort:
        code = 130
    except click.ClickException as error:
        for line in error.format_message().splitlines():
            click.echo(f"apiext: {line}", err=True)
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)
