"""`apiext doctor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.meta.host_annotations import SERVE_SELECTOR
from apiext.cli.credentials import credentials, text_of
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.outputs import json_text, terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from apiext.base.webhook.clientcmd.kubeconfig import Endpoint
    from apiext.operator.checks.sequence import Report
    from apiext.operator.checks.snapshot import CheckTarget
    from apiext.operator.checks.verdict import Finding

_SIGNS: Final = {"ok": ("✓", "green"), "broken": ("✗", "bold red"), "untold": ("?", "yellow")}
_WIDTH: Final = 20
"""Characters of the column of check names."""


@click.command(short_help="Find the broken step between a cluster and apiext.")
@click.argument("group", nargs=-1)
@click.option("--kubeconfig", metavar="FILE", help="Kubeconfig of the host (default the pod's service account, else that of kubectl).")
@click.option(
    "--crd-selector", metavar="SELECTOR", default=SERVE_SELECTOR, help=f"Labels of the host's CRDs to serve (default {SERVE_SELECTOR})."
)
@click.option("--service", metavar="NAMESPACE/NAME", help="Service of apiext on the host (default that of the APIServices).")
@click.option("--service-port", metavar="PORT", type=click.IntRange(1, 65535), help="Port of --service (default that of the APIServices).")
@click.option("--server", metavar="URL", help="URL of apiext from here (default https://NAME.NAMESPACE.svc:PORT of --service).")
@click.option("--ca-file", metavar="FILE", help="CA of apiext's certificate (default the caBundle of the APIServices).")
@click.option("--etcd-servers", metavar="URLS", multiple=True, help="Check the upkeep of this etcd instead, as http://host:port,...")
@click.option("--etcd-cafile", metavar="FILE", help="CA of etcd's certificates.")
@click.option("--etcd-certfile", metavar="FILE", help="Client certificate for etcd.")
@click.option("--etcd-keyfile", metavar="FILE", help="Key of --etcd-certfile.")
@click.option("-o", "--output", metavar="FORMAT", type=click.Choice(["text", "json"]), default="text", help="text (default) or json.")
def doctor(group: tuple[str, ...], output: str, **flags: Any) -> int:
    """Check the path from the host to apiext, for all groups or for GROUP, and print failed checks with cause and remedy.

    With --etcd-servers, check an etcd: members, alarms, size, fragmentation, compaction, disks and certificates.

    Changes nothing. The exit code is 0 if all checks pass, else 1.
    """
    if flags["etcd_servers"]:
        if group:
            raise click.UsageError("--etcd-servers checks no GROUP")
        report = run_interruptible(_examine_etcd(flags))
    else:
        report = run_interruptible(_examine(_target(flags), credentials(flags["kubeconfig"]), group))
    if output == "json":
        click.echo(json_text(report.as_json()), nl=False)
    else:
        _print(report)
    return 0 if report.ok else 1


async def _examine(target: CheckTarget, load: Callable[[], Endpoint], group: Sequence[str]) -> Report:
    from apiext.operator.checks.connections import Connections
    from apiext.operator.checks.sequence import examine

    connections = Connections(load)
    try:
        return await examine(target, connections, group)
    finally:
        await connections.close()


async def _examine_etcd(flags: Mapping[str, Any]) -> Report:
    from apiext.cli.stored_source import storage_of
    from apiext.operator.checks.etcd_members import ask_etcd
    from apiext.operator.checks.etcd_upkeep import check_upkeep
    from apiext.operator.checks.sequence import Report
    from apiext.storage.backend import BackendError

    config = storage_of({"data_dir": None, "etcd_prefix": None, **flags}).etcd
    try:
        return Report([], etcd=check_upkeep(await ask_etcd(config)) if config else [])
    except (BackendError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _target(flags: dict[str, Any]) -> CheckTarget:
    """Return the target of the flags. Raise UsageError for an invalid flag."""
    from apiext.base.meta.selector_parser import parse_label_selector
    from apiext.operator.checks.snapshot import CheckTarget
    from apiext.operator.names import NamespacedName

    try:
        parse_label_selector(flags["crd_selector"])
    except ValueError as error:
        raise click.UsageError(f"--crd-selector: {error}") from error
    namespace, slash, name = (flags["service"] or "").partition("/")
    if flags["service"] and not (namespace and slash and name and "/" not in name):
        raise click.UsageError(f"--service: {flags['service']!r} is not NAMESPACE/NAME")
    server = (flags["server"] or "").rstrip("/")
    if server and not server.startswith("https://"):
        raise click.UsageError(f"--server: {server!r} does not begin with https://")
    return CheckTarget(
        selector=flags["crd_selector"],
        service=NamespacedName(namespace, name) if slash else None,
        port=flags["service_port"],
        server=server,
        authority=text_of("--ca-file", flags["ca_file"]),
    )


def _print(report: Report) -> None:
    from rich.text import Text

    console = terminal()
    parts = [("host", report.host), *((f"group {name}", found) for name, found in report.groups.items()), ("etcd", report.etcd)]
    for title, findings in (part for part in parts if part[1]):
        console.print(Text(title, style="bold"))
        skipped = [finding.check for finding in findings if finding.verdict.state == "unseen"]
        for finding in findings[: len(findings) - len(skipped)]:
            console.print(_line(finding))
            if finding.broken:
                console.print(Text(f"  {'':2}{'':{_WIDTH}}→ {finding.verdict.remedy}", style="bold"))
        if skipped:
            console.print(Text(f"  · {'not run':{_WIDTH}}{', '.join(skipped)}", style="dim"))
    console.print(Text("All checks pass." if report.ok else "A check failed.", style="green" if report.ok else "bold red"))


def _line(finding: Finding) -> Any:
    from rich.text import Text

    sign, style = _SIGNS[finding.verdict.state]
    what = " ".join(finding.verdict.what.split())
    return Text.assemble("  ", (f"{sign} {finding.check:{_WIDTH}}", style), (what, style if finding.broken else ""))
