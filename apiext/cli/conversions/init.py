"""`apiext convert init`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from apiext.cli.releases.access_flags import ACCESS_FLAGS, access_of
from apiext.cli.releases.interruptible import run_interruptible

if TYPE_CHECKING:
    from apiext.resources.definitions.definition import Definition

_PARAMS: Final = [
    click.Argument(["crd"], metavar="CRD"),
    click.Option(["--name"], metavar="NAME", default="", help="The CRD's name, if CRD is a source with several, such as kubeconfig."),
    click.Option(["--hub"], metavar="VERSION", default="", help="The version to relate all others to (default the storage version)."),
    *ACCESS_FLAGS,
]


@click.command(params=_PARAMS, short_help="Print first rules, made by comparing the versions of a CRD.")
def init(crd: str, name: str, hub: str, **flags: Any) -> None:
    """Print a first Conversion object for CRD (a file, or a source as for `check --crds`), made by comparing the schemas of its versions.

    Print one for each CRD of an XRD.

    It relates fields of the same name, moved, renamed and retyped ones, and values of enums. Comments say why, and what is left to decide.
    """
    from apiext.resources.authoring.draft import draft_text
    from apiext.tools.releases.interface import SourceError

    try:
        found = run_interruptible(_definitions(crd, name, flags))
        click.echo("---\n".join(draft_text(each, hub) for each in found), nl=False)
    except (SourceError, ValueError) as error:
        raise click.ClickException(str(error)) from error


async def _definitions(place: str, name: str, flags: dict[str, Any]) -> list[Definition]:
    """Return the only definition with several versions at a place, those of the only XRD, or the named one. Raise SourceError."""
    from apiext.resources.definitions.composite_definition import composite_owner
    from apiext.tools.places import open_release
    from apiext.tools.releases.interface import SourceError

    release = await open_release(place, access_of(flags), names=[name] if name else None)
    found = [each for each in release.definitions.values() if (each.name == name if name else len(each.versions) > 1)]
    owners = {composite_owner(each.head["metadata"]) for each in found}
    if len(found) == 1 or (len(owners) == 1 and owners != {""}):
        return found
    for refused, reasons in release.refused.items():
        raise SourceError(f"{refused}: {reasons[0]}")
    if found:
        raise SourceError(f"{place} has several CRDs, --name says which: {', '.join(each.name for each in found)}")
    raise SourceError(f"{place} has no CRD {name}" if name else f"{place} has no CRD with several versions")
