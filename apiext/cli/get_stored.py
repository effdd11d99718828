"""`apiext get-stored`."""

from __future__ import annotations

import base64
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.texts import counted
from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.stored_source import SOURCE_FLAGS, open_source
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_OBJECT: Final = click.Argument(["key"], metavar="NAMESPACE/NAME")
_OUTPUT: Final = click.Option(
    ["-o", "--output"],
    metavar="FORMAT",
    type=click.Choice(["raw", "json"]),
    default="raw",
    help="raw (default), or json with base64.",
)


@click.command(params=[click.Argument(["crd"]), _OBJECT, _OUTPUT, *SOURCE_FLAGS], short_help="Print an object as it is stored.")
def get_stored(crd: str, key: str, output: str, **flags: Any) -> None:
    """Print an object of CRD as it is stored: its bytes, and on stderr their version, size and encoding.

    A cluster-scoped object has a NAME only.
    """
    found = run_interruptible(_get(flags, crd, key))
    if output == "json":
        import orjson

        click.echo(orjson.dumps(found, option=orjson.OPT_INDENT_2))
        return
    version = printable(found["apiVersion"]) or "unknown version"
    click.echo(f"{version}, {counted(found['size'], 'byte')}, {found['encoding']}, resourceVersion {found['resourceVersion']}", err=True)
    data = base64.b64decode(found["data"])
    if sys.stdout.isatty():
        # stored bytes must not control the terminal
        click.echo(printable(data.decode(errors="replace").rstrip("\n")))
    else:
        click.echo(data, nl=False)


async def _get(flags: dict[str, Any], crd: str, key: str) -> Object:
    async with open_source(flags) as ask:
        return await ask("objects", [crd, *key.split("/")], {})
