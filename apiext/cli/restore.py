"""`apiext restore`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.texts import counted
from apiext.cli.backup import print_backup
from apiext.cli.releases.interruptible import interruptible, run_interruptible
from apiext.cli.stored_source import endpoint_of, reads_store, whole_store_of
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from apiext.tools.backup.archive_reader import OpenedBackup
    from apiext.tools.backup.server_target import ServerOutcome

_SHOWN_FAILURES: Final = 20
_SHOWN_OTHERS: Final = 1000
_FILE: Final = click.Argument(["file"], type=click.Path(path_type=Path))
_FLAGS: Final = [
    click.Option(["--verify"], is_flag=True, help="Check the backup and print what it holds; restore nothing."),
    click.Option(["-o", "--output"], metavar="FORMAT", type=click.Choice(["text", "json"]), default="text", help="text (default) or json."),
    click.Option(["--group", "groups"], metavar="GROUP", multiple=True, help="Restore this API group only; may be repeated."),
    click.Option(
        ["--replace"],
        is_flag=True,
        help="Replace a store that has objects (an embedded one is kept under another name), or differing objects of a server.",
    ),
    click.Option(["--backup-prefix"], metavar="PREFIX", help="Prefix of the keys in the backup (default the recorded one, or /registry)."),
    click.Option(["--data-dir"], metavar="DIR", help="Restore into an embedded store in this directory; its server must not run."),
    click.Option(["--etcd-servers"], metavar="URLS", multiple=True, help="Restore into this etcd, as http://host:port,..."),
    click.Option(["--etcd-prefix"], metavar="PREFIX", help="Prefix of all keys of the restored store (default /registry)."),
    click.Option(["--etcd-cafile"], metavar="FILE", help="CA of etcd's certificates."),
    click.Option(["--etcd-certfile"], metavar="FILE", help="Client certificate for etcd."),
    click.Option(["--etcd-keyfile"], metavar="FILE", help="Key of --etcd-certfile."),
    click.Option(["--kubeconfig"], metavar="FILE", help="Restore missing custom resources into this running server of apiext."),
    click.Option(
        ["--through-api"],
        is_flag=True,
        help="Write through the API of any server of --kubeconfig, such as kube-apiserver: new objects get new uids.",
    ),
    click.Option(["--server"], metavar="URL", help="URL of apiext's own address, if the kubeconfig has another."),
    click.Option(["--ca-file"], metavar="FILE", help="CA of the certificate at --server (default that of the kubeconfig)."),
    click.Option(["--tls-server-name"], metavar="NAME", help="Name of that certificate (default the host of --server)."),
]


@click.command(params=[_FILE, *_FLAGS], short_help="Restore a backup into a store or a running server.")
def restore(file: Path, groups: tuple[str, ...], output: str, **flags: Any) -> int:
    """Restore FILE, a backup of apiext or a snapshot of etcd, into a store or a running server.

    Clients see greater revisions than before, so that they list again. Repeat an interrupted restoration with the same flags.
    """
    from apiext.storage.backups.stored_pairs import BackupError
    from apiext.tools.backup.archive_reader import open_backup

    try:
        with interruptible(), open_backup(file.expanduser(), prefix=flags["backup_prefix"]) as opened:
            if flags["verify"]:
                _verify(opened, output)
                return 0
            return run_interruptible(_restore(opened, groups, flags))
    except BackupError as error:
        raise click.ClickException(str(error)) from error


def _verify(opened: OpenedBackup, output: str) -> None:
    from apiext.tools.backup.verification import verified

    manifest = verified(opened)
    if output == "json":
        click.echo(manifest.dump(), nl=False)
    else:
        print_backup(manifest)
        click.echo("complete: all checksums are right")


async def _restore(opened: OpenedBackup, groups: Sequence[str], flags: Mapping[str, Any]) -> int:
    if reads_store(flags):
        if flags["through_api"]:
            raise click.UsageError("--through-api needs a server, not a store")
        from apiext.tools.backup.restoration import restore_store

        done = await restore_store(opened, whole_store_of(flags), groups, replace=flags["replace"])
        if done.replaced is not None:
            click.echo(f"the previous store is kept as {done.replaced}")
        click.echo(f"restored {counted(done.count, 'key')} into {done.store}")
        return 0
    if not (flags["kubeconfig"] or flags["server"]):
        raise click.UsageError("one of --data-dir, --etcd-servers, --kubeconfig and --server is needed")
    from apiext.base.webhook.client import WebhookClient
    from apiext.tools.backup.restoration import restore_server, restore_through_api

    restored = restore_through_api if flags["through_api"] else restore_server
    client = WebhookClient(endpoint_of(flags), timeout=60.0, backoff=())
    try:
        return _report(await restored(opened, client, groups, replace=flags["replace"]))
    finally:
        await client.close()


def _report(outcome: ServerOutcome) -> int:
    click.echo(f"created {outcome.created}, replaced {outcome.replaced}, there already {outcome.unchanged}")
    if outcome.skipped:
        rest = ", ".join(f"{name}: {count}" for name, count in sorted(outcome.skipped.items()))
        click.echo(f"not restored, since only custom resources are restored into a server: {rest}")
    for line in outcome.others[:_SHOWN_OTHERS]:
        click.echo(f"not in the backup: {printable(line)}")
    if outcome.others[_SHOWN_OTHERS:]:
        click.echo(f"... and {len(outcome.others) - _SHOWN_OTHERS} others that are not in the backup")
    for line in outcome.failed[:_SHOWN_FAILURES]:
        click.echo(line, err=True)
    if outcome.failed:
        click.echo(f"{len(outcome.failed)} not restored", err=True)
    return 1 if outcome.failed else 0
