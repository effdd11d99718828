"""`apiext record`."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.texts import counted
from apiext.cli.releases.access_flags import ACCESS_FLAGS, access_of
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.object_progress import shown_progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.tools.recordings.archive_format import RecordingManifest
    from apiext.tools.recordings.recorder import RecordingOptions

_ARCHIVE: Final = click.Argument(["archive"], type=click.Path(path_type=Path))
_FROM: Final = click.Option(
    ["--from", "place"],
    metavar="SOURCE",
    default="kubeconfig",
    help="What to record: kubeconfig (default, the cluster of --kubeconfig), a kubeconfig file, URLs of an etcd as http://host:port,..., "
    "a data directory of apiext, a snapshot of etcd, another recording, or a folder of manifests.",
)
_CRD: Final = click.Option(["--crd", "names"], metavar="NAME", multiple=True, help="A definition to record (default all); repeatable.")
_REDACT: Final = click.Option(
    ["--redact", "paths"], metavar="PATH", multiple=True, help="A field to redact too, such as spec.hosts[].login; repeatable."
)
_NO_REDACT: Final = click.Option(["--no-redact"], is_flag=True, help="Keep secrets.")
_ANONYMIZE: Final = click.Option(
    ["--anonymize"], is_flag=True, help="Replace names, namespaces, values of labels and managers with pseudonyms."
)
_FORCE: Final = click.Option(["--force"], is_flag=True, help="Replace an existing archive.")


@click.command(
    params=[_ARCHIVE, _FROM, _CRD, _REDACT, _NO_REDACT, _ANONYMIZE, _FORCE, *ACCESS_FLAGS],
    short_help="Record CRDs and objects of a cluster in a file.",
)
def record(archive: Path, place: str, names: tuple[str, ...], paths: tuple[str, ...], **flags: Any) -> None:
    """Record CRDs and their objects in ARCHIVE, a .tar.gz file.

    Secrets are redacted: fields with format password, fields that are named like secrets, private keys and tokens.
    """
    from apiext.tools.recordings.field_path import RedactPathError, parse_field_path
    from apiext.tools.recordings.recorder import RecordingOptions
    from apiext.tools.releases.interface import SourceError

    if paths and flags["no_redact"]:
        raise click.UsageError("either --redact or --no-redact can be given")
    try:
        options = RecordingOptions(
            names=names,
            redact=not flags["no_redact"],
            paths=[parse_field_path(path) for path in paths],
            anonymize=flags["anonymize"],
            force=flags["force"],
        )
    except RedactPathError as error:
        raise click.UsageError(f"--redact: {error}") from error
    try:
        manifest = run_interruptible(_record(archive.expanduser(), place, options, flags))
    except SourceError as error:
        raise click.ClickException(str(error)) from error
    for name, count in sorted(manifest.objects.items()):
        click.echo(f"{name}: {counted(count, 'object')}")
    click.echo(f"recorded in {archive}")


async def _record(archive: Path, place: str, options: RecordingOptions, flags: Mapping[str, Any]) -> RecordingManifest:
    from apiext.tools.places import open_source
    from apiext.tools.recordings.recorder import record as write

    async with AsyncExitStack() as stack:
        source = await open_source(place, access_of(flags))
        stack.push_async_callback(source.close)
        release = await source.release(options.names or None)
        return await write(source, release, archive, options, stack.enter_context(shown_progress()))
