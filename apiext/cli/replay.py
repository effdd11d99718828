"""`apiext replay`."""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.cli.interruptible import run_interruptible
from apiext.cli.object_progress import shown_progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.lab.releases.interface import Release
    from apiext.lab.replay.outcome import ReplayReport

LOST: Final = 2
"""Exit code if something was lost, or happened that no plan foretold."""
FAILURE: Final = 3
"""Exit code if the replay could not run."""
_WIDTH: Final = 160
"""Columns where the output is no terminal."""
_FORMATS: Final = ("text", "json", "junit")


class _ReplayFailure(click.ClickException):
    """No replay could be made."""

    exit_code = FAILURE


class _ReplayCommand(click.Command):
    """A command whose errors have an exit code of their own."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.ClickException as error:
            raise _ReplayFailure(error.format_message()) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            raise _ReplayFailure(error.format_message()) from error


_PARAMS: Final = [
    click.Argument(["archive"], metavar="ARCHIVE"),
    click.Argument(["releases"], metavar="RELEASE...", nargs=-1, required=True),
    click.Option(
        ["--path", "paths"],
        metavar="PATH",
        multiple=True,
        help="A file or folder that git revisions among the releases are read at (default crds, or the current folder); may be repeated.",
    ),
    click.Option(["--webhook-url"], metavar="URL", help="URL of the conversion webhook, instead of that in the definitions."),
    click.Option(["--webhook-ca-file"], metavar="FILE", help="CA of the certificate at --webhook-url."),
    click.Option(
        ["--service-address"],
        metavar="NAMESPACE/NAME=HOST:PORT",
        multiple=True,
        help="Address of a webhook's Service; may be repeated. Without it and --webhook-url, definitions with a webhook are not replayed.",
    ),
    click.Option(["--no-later"], is_flag=True, help="Leave out the steps that only a later release needs."),
    click.Option(
        ["-o", "--output"],
        metavar="FORMAT[=FILE]",
        multiple=True,
        default=("text",),
        help="text (default), json or junit, into a file or to stdout; may be repeated.",
    ),
]


@click.command(cls=_ReplayCommand, params=_PARAMS)
def replay(archive: str, releases: tuple[str, ...], **flags: Any) -> int:
    """Walk the objects of ARCHIVE, a recording, through releases (files, folders or git revisions of CRDs) and back.

    A server of its own, with its store in a temporary folder, takes the steps that `apiext plan` foretells. After each step all objects
    are compared with what was there. Exit codes: 0 nothing is lost and all is as foretold, 2 something is lost or not as foretold, 3 the
    replay could not run.
    """
    from apiext.lab.releases.interface import SourceError
    from apiext.lab.replay.outcome import ReplayError

    outputs = [_output(text) for text in flags["output"]]
    try:
        found = run_interruptible(_replay(archive, releases, flags))
    except (SourceError, ReplayError) as error:
        raise click.ClickException(str(error)) from error
    for kind, file in outputs:
        _write(found, kind, file)
    return LOST if found.is_lost else 0


async def _replay(archive: str, texts: Sequence[str], flags: Mapping[str, Any]) -> ReplayReport:
    from apiext.lab.recordings.archive_reader import open_archive
    from apiext.lab.replay.walk import ReplayOptions
    from apiext.lab.replay.walk import replay as run

    services = _services(flags["service_address"])
    with shown_progress() as on_progress:
        options = ReplayOptions(
            webhook=_webhook(flags),
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
    from apiext.lab.releases.places import Access, open_release

    found = await open_release(text, Access(), paths=paths)
    if not (found.definitions or found.refused):
        raise click.UsageError(f"there are no CRDs in {text}")
    return found


def _default_paths() -> Sequence[str]:
    return ["crds"] if Path("crds").is_dir() else ["."]


def _webhook(flags: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the clientConfig of the webhook in the flags."""
    url, file = flags["webhook_url"], flags["webhook_ca_file"]
    if not url:
        if file:
            raise click.UsageError("--webhook-ca-file needs --webhook-url")
        return None
    if not url.startswith("https://"):
        raise click.UsageError(f"--webhook-url: {url!r} does not begin with https://")
    if not file:
        return {"url": url}
    try:
        return {"url": url, "caBundle": base64.b64encode(Path(file).expanduser().read_bytes()).decode()}
    except OSError as error:
        raise click.UsageError(f"--webhook-ca-file: {file}: {error.strerror}") from error


def _services(texts: Sequence[str]) -> Any:
    from apiext.webhook.service_addresses import parse_service_addresses

    try:
        return parse_service_addresses(texts) or None
    except ValueError as error:
        raise click.UsageError(f"--service-address: {error}") from error


def _output(text: str) -> tuple[str, str]:
    kind, _, file = text.partition("=")
    if kind not in _FORMATS:
        raise click.UsageError(f"-o: {kind!r} is none of {', '.join(_FORMATS)}")
    return kind, file


def _write(found: ReplayReport, kind: str, file: str) -> None:
    text = _text(found, kind, is_file=bool(file))
    if not file:
        click.echo(text, nl=False)
        return
    try:
        Path(file).expanduser().write_text(text)
    except OSError as error:
        raise click.ClickException(f"{file}: {error.strerror}") from error


def _text(found: ReplayReport, kind: str, *, is_file: bool) -> str:
    if kind == "json":
        import orjson

        from apiext.lab.replay.document import document_of

        return orjson.dumps(document_of(found), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()
    if kind == "junit":
        from apiext.lab.replay.junit import junit_of

        return junit_of(found)
    import io

    from rich.console import Console

    from apiext.lab.replay.text import ReplayText

    buffer, terminal = io.StringIO(), sys.stdout.isatty() and not is_file
    width = None if terminal else _WIDTH
    console = Console(file=buffer, force_terminal=terminal, highlight=False, soft_wrap=True, emoji=False, markup=False, width=width)
    ReplayText(console).write(found)
    return buffer.getvalue()
