"""The `apiext` command."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

from apiext import __version__
from apiext.cli.backup import backup
from apiext.cli.conversions.convert import convert
from apiext.cli.doctor import doctor
from apiext.cli.get_stored import get_stored
from apiext.cli.operate import operate
from apiext.cli.releases.explain import explain
from apiext.cli.releases.plan import plan
from apiext.cli.releases.record import record
from apiext.cli.releases.replay import replay
from apiext.cli.rescue import rescue
from apiext.cli.restore import restore
from apiext.cli.serve import serve
from apiext.cli.suites.test import test
from apiext.cli.versions import versions


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def apiext() -> None:
    """Serve the custom resources of CustomResourceDefinitions as a Kubernetes API server of its own."""


@apiext.command()
def version() -> None:
    """Print the version."""
    from apiext.server.routes.version import GIT_VERSION

    click.echo(f"apiext {__version__} (serves Kubernetes {GIT_VERSION})")


apiext.add_command(serve)
apiext.add_command(operate)
apiext.add_command(doctor)
apiext.add_command(versions)
apiext.add_command(get_stored)
apiext.add_command(rescue)
apiext.add_command(backup)
apiext.add_command(restore)
apiext.add_command(plan)
apiext.add_command(explain)
apiext.add_command(record)
apiext.add_command(replay)
apiext.add_command(test)
apiext.add_command(convert)


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
