"""`apiext backup`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.texts import counted
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.stored_source import BYTES_FLAGS, endpoint_of, reads_store, whole_store_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from apiext.tools.backup.manifest import BackupManifest

_TARGET: Final = click.Argument(["target"], metavar="FILE|DIR", type=click.Path(path_type=Path))
_GROUP: Final = click.Option(
    ["--group", "groups"], metavar="GROUP", multiple=True, help="Back up this API group only, from a server; may be repeated."
)
_FORCE: Final = click.Option(["--force"], is_flag=True, help="Replace an existing FILE.")
_KEEP: Final = click.Option(
    ["--keep"], metavar="N", type=click.IntRange(1), help="Delete all but the N newest backups in DIR afterwards (default: delete none)."
)


@click.command(params=[_TARGET, _GROUP, _FORCE, _KEEP, *BYTES_FLAGS], short_help="Back up a store, or the objects of a server.")
def backup(target: Path, groups: tuple[str, ...], keep: int | None, **flags: Any) -> None:
    """Back up a store with --data-dir or --etcd-servers, or the custom resources of a server, in FILE or in a new file in DIR.

    Servers may run meanwhile. The file appears when it is complete; only its owner can read it.
    """
    from apiext.storage.backups.stored_pairs import BackupError

    target = target.expanduser()
    if groups and reads_store(flags):
        raise click.UsageError("--group needs a server: a store is backed up as a whole, and can be restored in parts")
    if keep is not None and not target.is_dir():
        raise click.UsageError(f"--keep: {target} is no folder")
    try:
        path, manifest = run_interruptible(_back_up(target, groups, flags))
        print_backup(manifest)
        click.echo(f"backed up in {path}")
        if keep is not None:
            from apiext.tools.backup.creation import delete_older

            for older in delete_older(target, keep, path):
                click.echo(f"deleted {older}")
    except BackupError as error:
        raise click.ClickException(str(error)) from error


async def _back_up(target: Path, groups: tuple[str, ...], flags: Mapping[str, Any]) -> tuple[Path, BackupManifest]:
    from apiext.tools.backup.creation import back_up_server, back_up_store, target_file

    path = target_file(target, force=flags["force"])
    if reads_store(flags):
        return path, await back_up_store(whole_store_of(flags), path)
    from apiext.tools.releases.cluster_connection import ClusterConnection

    endpoint = endpoint_of(flags)
    server = ClusterConnection(endpoint.url, endpoint)
    try:
        return path, await back_up_server(server, groups, path)
    finally:
        await server.close()


def print_backup(manifest: BackupManifest) -> None:
    """Print what a backup holds."""
    release = f", by apiext {manifest.release}" if manifest.release else ""
    click.echo(f"{manifest.origin} at {manifest.time}{release}")
    details = [f"revision {manifest.revision}"] if manifest.revision else []
    if manifest.encrypted:
        details.append(counted(manifest.encrypted, "encrypted value"))
    if details:
        click.echo(", ".join(details))
    for resource, count in sorted(manifest.resources.items()):
        click.echo(f"  {resource}: {count}")
