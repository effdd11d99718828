"""`apiext versions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.texts import counted
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.releases.outputs import json_text, terminal
from apiext.cli.stored_source import SOURCE_FLAGS, open_source, reads_store
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.cli.stored_source import Ask

_MAX_PROBLEMS: Final = 1000
"""Maximum of printed problems for each definition; the counts include all objects."""
_SHOWN: Final = 10
_UNKNOWN: Final = "unknown"
_COLUMNS: Final = ("version", "served", "storage", "deprecated", "in storedVersions", "objects stored", "invalid", "undecodable")
_CHECK: Final = click.Option(
    ["--validate/--no-validate"], default=None, help="Count invalid and undecodable objects, too (default only if CRD is given)."
)
_OUTPUT: Final = click.Option(["-o", "--output"], metavar="FORMAT", type=click.Choice(["table", "json"]), help="table (default) or json.")

_HTML: Final = click.Option(["--html"], metavar="FILE", help="Write the version map, the page /apiext/versions, to FILE instead.")


@click.command(
    params=[click.Argument(["crd"], required=False), _CHECK, _OUTPUT, _HTML, *SOURCE_FLAGS], short_help="Count stored objects by version."
)
def versions(crd: str | None, output: str | None, html: str | None, *, validate: bool | None, **flags: Any) -> None:
    """Print in which versions the objects of all CRDs or of CRD are stored, counted from the stored bytes.

    An object is invalid if a create of it would be refused today, after its conversion to the storage version.
    """
    validates = bool(crd) if validate is None else validate
    if html:
        if output is not None:
            raise click.UsageError("--html writes a page: give no --output")
        from apiext.cli.version_page import write_page

        write_page(flags, html, crd, validate=validates)
        return
    found = run_interruptible(_report(flags, crd, validate=validates))
    if output == "json":
        click.echo(json_text(found), nl=False)
    else:
        _print(found)


async def _report(flags: dict[str, Any], crd: str | None, *, validate: bool) -> list[Object]:
    async with open_source(flags) as ask:
        found = (
            [await ask("versions", [crd], {})] if crd else [item async for page in _pages(ask, "versions", []) for item in page["items"]]
        )
        if validate:
            for report in found:
                try:
                    await _validate(ask, report)
                except click.ClickException as error:
                    # without its conversion webhook, a definition still has counts
                    click.echo(f"{report['name']}: not validated: {error.message}", err=True)
        if found and not reads_store(flags):
            servers = (await ask("servers", [], {}))["items"]
            for report in found:
                report["servers"] = [
                    {"address": server["address"], "version": server["versions"].get(report["name"])} for server in servers
                ]
        return found


async def _validate(ask: Ask, report: Object) -> None:
    """Add the invalid and the undecodable objects to the report about a definition."""
    rows = {row["name"]: row | {"invalid": 0, "undecodable": 0} for row in report["versions"]}
    unknown = {"invalid": 0, "undecodable": 0}
    problems: list[Object] = []
    group = report["name"].partition(".")[2]
    async for page in _pages(ask, "invalid", [report["name"]]):
        for problem in page["items"]:
            of_group, _, version = problem["apiVersion"].rpartition("/")
            row = rows.get(version) if of_group == group else None
            (unknown if row is None else row)[problem["state"]] += 1
        problems += page["items"][: _MAX_PROBLEMS - len(problems)]
    report["versions"] = list(rows.values())
    report["unknownVersion"] = {"objects": report["unknown"], **unknown}
    report["problems"] = problems


async def _pages(ask: Ask, what: str, rest: Sequence[str]) -> AsyncIterator[Object]:
    after = ""
    while True:
        page = await ask(what, rest, {"continue": after} if after else {})
        yield page
        after = page["continue"]
        if not after:
            return


def _print(found: Sequence[Object]) -> None:
    from rich.table import Table
    from rich.text import Text

    console = terminal()
    for report in found:
        checked = "problems" in report
        table = Table(*_COLUMNS[: None if checked else -2], box=None, pad_edge=False, header_style="dim")
        for row in report["versions"]:
            table.add_row(*_cells(row))
        if report["unknown"]:
            counts = report.get("unknownVersion", {"objects": report["unknown"]})
            table.add_row(_UNKNOWN, "", "", "", "", *map(str, counts.values()))
        console.print(Text(f"{report['name']}  {counted(report['objects'], 'object')}", style="bold"))
        console.print(table)
        written = [f"{server['version'] or _UNKNOWN} by {server['address']}" for server in report.get("servers", ())]
        if written:
            console.print(Text(f"written in {', '.join(written)}", style="dim"))
        problems = report.get("problems", ())
        for problem in problems[:_SHOWN]:
            console.print(Text(f"  {printable(problem['key'])}: {problem['state']}: {printable(problem['message'])}", style="yellow"))
        if len(problems) > _SHOWN:
            console.print(Text(f"  ... and others (-o json names up to {_MAX_PROBLEMS})", style="dim"))
    if not found:
        console.print("There are no CRDs.")


def _cells(row: Object) -> list[str]:
    marks = ["yes" if row[name] else "" for name in ("served", "storage", "deprecated", "stored")]
    return [row["name"], *marks, *(str(row[name]) for name in ("objects", "invalid", "undecodable") if name in row)]
