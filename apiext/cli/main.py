"""The `apiext` command."""

from __future__ import annotations

import sys
from typing import Final, NoReturn

import click

from apiext import __version__
from apiext.cli.lazy_commands import LazyCommands
from apiext.cli.sections import SectionedGroup

_SECTIONS: Final = {
    "Serve": {"serve": "apiext.cli.serve"},
    "For authors of CRDs": {
        "test": "apiext.cli.suites.test",
        "plan": "apiext.cli.releases.plan",
        "explain": "apiext.cli.releases.explain",
        "convert": "apiext.cli.conversions.convert",
        "record": "apiext.cli.releases.record",
        "replay": "apiext.cli.releases.replay",
    },
    "For operators of servers and clusters": {
        "operate": "apiext.cli.operate",
        "doctor": "apiext.cli.doctor",
        "versions": "apiext.cli.versions",
        "backup": "apiext.cli.backup",
        "restore": "apiext.cli.restore",
        "reencrypt": "apiext.cli.reencrypt",
    },
    "Repair": {
        "get-stored": "apiext.cli.get_stored",
        "rescue": "apiext.cli.rescue",
    },
}
"""The modules of the commands, by the title above them in the help."""
_EPILOG: Final = """\b
apiext COMMAND --help says more. Completion of words in a shell:
  bash  eval "$(_APIEXT_COMPLETE=bash_source apiext)"
  zsh   eval "$(_APIEXT_COMPLETE=zsh_source apiext)"
  fish  _APIEXT_COMPLETE=fish_source apiext | source
"""


def _print_version(ctx: click.Context, _option: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 -- click's signature
    if wanted:
        from apiext.server.routes.version import GIT_VERSION

        click.echo(f"apiext {__version__} (serves Kubernetes {GIT_VERSION})")
        ctx.exit()


@click.group(
    cls=SectionedGroup,
    commands=LazyCommands({name: module for commands in _SECTIONS.values() for name, module in commands.items()}),
    sections={title: list(commands) for title, commands in _SECTIONS.items()},
    params=[
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version and exit."
        )
    ],
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
)
def apiext() -> None:
    """Serve custom resources as kube-apiserver does, and foretell what new CRDs do to clients and objects."""


@apiext.command(hidden=True)
@click.pass_context
def version(ctx: click.Context) -> None:
    """Print the version."""
    _print_version(ctx, apiext.params[0], wanted=True)


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
