"""`apiext test --update`: shows the changes of each suite file, asks, and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from apiext.base.texts import counted
from apiext.cli.releases.outputs import save
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from apiext.tools.suites.report import RunReport


def update_files(report: RunReport, *, asks: bool) -> None:
    """Write new expectations into the files of a run.

    Raises:
        ClickException: a file cannot be written.
    """
    from apiext.tools.suites.expectation_update import updates_of

    for update in updates_of(report.finished):
        for line in update.difference():
            click.echo(click.style(printable(line), fg={"-": "red", "+": "green", "@": "cyan"}.get(line[:1])))
        for text in update.left_out:
            click.echo(f"not updated: {update.path}: {printable(text)}")
        if update.updated and (not asks or click.confirm(f"write {update.path}?", default=False)):
            save(update.path, update.after)
            click.echo(f"updated: {update.path}: {counted(update.updated, 'case')}")
