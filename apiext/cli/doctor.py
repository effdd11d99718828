"""`apiext doctor`."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.meta.host_annotations import SERVE_SELECTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from apiext.operator.checks.report import Report
    from apiext.operator.checks.snapshot import Target
    from apiext.operator.checks.verdict import Finding
    from apiext.webhook.kubeconfig import Endpoint

_SIGNS: Final = {"ok": ("✓", "green"), "broken": ("✗", "bold red"), "untold": ("?", "yellow")}
_WIDTH: Final = 20


@click.command()
@click.argument("group", nargs=-1)
@click.option("--kubeconfig", metavar="FILE", help="How to reach the host (default the pod's service account, else as kubectl has it).")
@click.option(
    "--crd-selector", metavar="SELECTOR", default=SERVE_SELECTOR, help=f"Labels of the host's CRDs to serve (default {SERVE_SELECTOR})."
)
@click.option("--service", metavar="NAMESPACE/NAME", help="Service of apiext on the host (default that of the APIServices).")
@click.option("--service-port", metavar="PORT", type=click.IntRange(1, 65535), help="Port of --service (default that of the APIServices).")
@click.option("--server", metavar="URL", help="Where apiext is reached from here (default https://NAME.NAMESPACE.svc:PORT of --service).")
@click.option("--ca-file", metavar="FILE", help="Authorities of apiext's certificate (default the caBundle of the APIServices).")
@click.option("-o", "--output", metavar="FORMAT", type=click.Choice(["text", "json"]), default="text", help="text (default) or json.")
def doctor(group: tuple[str, ...], output: str, **flags: Any) -> int:
    """Walk from the host to apiext, for all its groups or for GROUP, and tell which hop is broken, why, and what to do.

    Changes nothing. The exit code is 0 where nothing is broken, else 1.
    """
    report = asyncio.run(_examine(_target(flags), _credentials(flags["kubeconfig"]), group))
    if output == "json":
        _print_json(report)
    else:
        _print(report)
    return 0 if report.ok else 1


async def _examine(target: Target, load: Callable[[], Endpoint], group: Sequence[str]) -> Report:
    from apiext.operator.checks.connections import Connections
    from apiext.operator.checks.report import examine

    connections = Connections(load)
    try:
        return await examine(target, connections, group)
    finally:
        await connections.close()


def _target(flags: dict[str, Any]) -> Target:
    """What the flags say of apiext. Raises UsageError."""
    from apiext.meta.selectors import parse_label_selector
    from apiext.operator.checks.snapshot import Service, Target

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
    return Target(
        selector=flags["crd_selector"],
        service=Service(namespace, name) if slash else None,
        port=flags["service_port"],
        server=server,
        authority=_text("--ca-file", flags["ca_file"]),
    )


def _text(flag: str, path: str | None) -> str:
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{flag}: {path}: {getattr(error, 'strerror', None) or error}") from error


def _credentials(given: str | None) -> Callable[[], Endpoint]:
    """Reads the credentials for the host. Raises UsageError where there are none."""
    import os

    from apiext.webhook import kubeconfig, service_account

    path = given or os.environ.get("KUBECONFIG", "").partition(os.pathsep)[0] or "~/.kube/config"
    in_pod = not given and service_account.in_cluster()

    def load() -> Endpoint:
        return service_account.load() if in_pod else kubeconfig.load(Path(path).expanduser())

    try:
        load()
    except kubeconfig.KubeconfigError as error:
        raise click.UsageError(f"--kubeconfig: {error}") from error
    return load


def _print_json(report: Report) -> None:
    import orjson

    click.echo(orjson.dumps(report.as_json(), option=orjson.OPT_INDENT_2))


def _print(report: Report) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True, emoji=False, markup=False)
    for title, findings in [("host", report.host), *((f"group {name}", found) for name, found in report.groups.items())]:
        console.print(Text(title, style="bold"))
        unseen = [finding.hop for finding in findings if finding.verdict.state == "unseen"]
        for finding in findings[: len(findings) - len(unseen)]:
            console.print(_line(finding))
            if finding.broken:
                console.print(Text(f"  {'':2}{'':{_WIDTH}}→ {finding.verdict.remedy}", style="bold"))
        if unseen:
            console.print(Text(f"  · {'not looked at':{_WIDTH}}{', '.join(unseen)}", style="dim"))
    console.print(Text("All hops are fine." if report.ok else "A hop is broken.", style="green" if report.ok else "bold red"))


def _line(finding: Finding) -> Any:
    from rich.text import Text

    sign, style = _SIGNS[finding.verdict.state]
    what = " ".join(finding.verdict.what.split())
    return Text.assemble("  ", (f"{sign} {finding.hop:{_WIDTH}}", style), (what, style if finding.broken else ""))
