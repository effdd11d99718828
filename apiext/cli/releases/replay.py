"""`apiext replay`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.object_progress import shown_progress
from apiext.cli.releases.outputs import json_text, output_flag, parse_outputs, write_report
from apiext.cli.releases.verdict_command import VerdictCommand
from apiext.cli.releases.webhook_flags import services_of, webhook_flags, webhook_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.cli.releases.outputs import Output
    from apiext.tools.releases.interface import Release
    from apiext.tools.replay.outcome import ReplayReport

LOST: Final = 2
"""Exit code if something was lost, or happened that no plan foretold."""
_FORMATS: Final = ("text", "json", "junit")

_PARAMS: Final = [
    click.Argument(["archive"], metavar="ARCHIVE"),
    click.Argument(["releases"], metavar="RELEASE...", nargs=-1, required=True),
    click.Option(
        ["--path", "paths"],
        metavar="PATH",
        multiple=True,
        help="A file or folder that git revisions among the releases are read at (default crds, or the current folder); may be repeated.",
    ),
    *webhook_flags("Without it and --webhook-url, definitions with a webhook are not replayed."),
    click.Option(["--no-later"], is_flag=True, help="Leave out the steps that only a later release needs."),
    output_flag(_FORMATS),
]


@click.command(cls=VerdictCommand, params=_PARAMS, short_help="Walk recorded objects through releases and back.")
def replay(archive: str, releases: tuple[str, ...], **flags: Any) -> int:
    """Walk the objects of ARCHIVE, a recording, through releases (files, folders or git revisions of CRDs) and back.

    A server of its own, with its store in a temporary folder, takes the steps that `apiext plan` foretells. After each step all objects
    are compared with what was there. Exit codes: 0 nothing is lost and all is as foretold, 2 something is lost or not as foretold, 3 the
    replay could not run.
    """
    from apiext.tools.releases.interface import SourceError
    from apiext.tools.replay.outcome import ReplayError

    outputs = parse_outputs(flags["output"], _FORMATS)
    try:
        found = run_interruptible(_replay(archive, releases, flags))
    except (SourceError, ReplayError) as error:
        raise click.ClickException(str(error)) from error
    for output in outputs:
        _write(found, output)
    return LOST if found.is_lost else 0


async def _replay(archive: str, texts: Sequence[str], flags: Mapping[str, Any]) -> ReplayReport:
    from apiext.tools.recordings.archive_reader import open_archive
    from apiext.tools.replay.walk import ReplayOptions
    from apiext.tools.replay.walk import replay as run

    services = services_of(flags)
    with shown_progress() as on_progress:
        options = ReplayOptions(
            webhook=webhook_of(flags),
            services=services,
            service_texts=flags["service_address"] if services else (),
            takes_later=not flags["no_later"],
            on_progress=on_progress,
        )
        releases = [await _release(text, flags["paths"] or _default_paths()) for text in texts]
        recording = await open_archive(archive)
        try:
            return await run(recording, releases, options)
        finally:
            await recording.close()


async def _release(text: str, paths: Sequence[str]) -> Release:
    from apiext.tools.places import Access, open_release

    found = await open_release(text, Access(), paths=paths)
    if not (found.definitions or found.refused):
        raise click.UsageError(f"there are no CRDs in {text}")
    return found


def _default_paths() -> Sequence[str]:
    return ["crds"] if Path("crds").is_dir() else ["."]


def _write(found: ReplayReport, output: Output) -> None:
    from apiext.tools.replay.report import ReplayText, document_of, junit_of

    others = {"json": lambda: json_text(document_of(found)), "junit": lambda: junit_of(found)}
    write_report(output, lambda console: ReplayText(console).write(found), others)
