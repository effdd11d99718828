"""A command whose exit codes 1 and 2 are verdicts."""

from __future__ import annotations

from typing import Any, Final

import click

FAILURE: Final = 3
"""Exit code of errors of usage and of places that cannot be read."""


class VerdictCommandFailure(click.ClickException):
    """The command has come to no verdict."""

    exit_code = FAILURE


class VerdictCommand(click.Command):
    """A command whose errors have an exit code of their own, that of `failure`."""

    failure: type[click.ClickException] = VerdictCommandFailure

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Parse the arguments.

        Raises:
            ClickException: an argument is invalid.
        """
        try:
            return super().make_context(*args, **kwargs)
        except click.ClickException as error:
            raise self.failure(error.format_message()) from error

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command.

        Raises:
            ClickException: the command fails.
        """
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise self.failure(error.format_message()) from error
