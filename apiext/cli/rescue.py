"""`apiext rescue`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.texts import counted
from apiext.cli.printable import readable
from apiext.cli.sections import SectionedGroup
from apiext.cli.stored_objects import with_objects
from apiext.cli.stored_source import SOURCE_FLAGS
from apiext.tools.reports.texts import printable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from apiext.resources.definitions.definition import Definition
    from apiext.resources.stored_objects.interface import StoredObjects
    from apiext.resources.stored_objects.schema_match import VersionFit
    from apiext.tools.rescue.rescue import Case

_SHOWN_BYTES: Final = 4096
_SHOWN_PROBLEMS: Final = 10
"""Maximum of printed fields and violations for each version."""
_NOT_DONE: Final = "Nothing was changed. Repeat the command with --yes to do this."

_CRD: Final = click.Argument(["crd"])
_ANY_CRD: Final = click.Argument(["crd"], required=False, default="")
_OBJECT: Final = click.Argument(["key"], metavar="OBJECT")
_ANY_OBJECT: Final = click.Argument(["key"], metavar="[OBJECT]", required=False, default="")
_ALL: Final = click.Option(["--all", "every"], is_flag=True, help="All objects that cannot be read, instead of OBJECT.")
_YES: Final = click.Option(["--yes"], is_flag=True, help="Do it; otherwise only print what would be done.")
_MISLABELLED: Final = click.Option(
    ["--mislabelled"], is_flag=True, help="Objects that can be read, but have the fields of another version than their bytes name."
)
_UNCONVERTIBLE: Final = click.Option(
    ["--unconvertible"], is_flag=True, help="Objects that the conversion webhook refuses to convert to the storage version; needs a server."
)
_OUTPUT: Final = click.Option(
    ["-o", "--output"], metavar="FORMAT", type=click.Choice(["text", "json"]), default="text", help="text (default) or json."
)


@click.group(cls=SectionedGroup, short_help="Find stored objects that cannot be read, and repair them.")
def rescue() -> None:
    """Find stored objects that cannot be read; repair, export or delete them.

    OBJECT is NAMESPACE/NAME, or NAME of a cluster-scoped object. Nothing is rewritten or deleted without --yes.
    """


@rescue.command(
    "list",
    short_help="List the objects that cannot be read, and why.",
    params=[_ANY_CRD, _MISLABELLED, _UNCONVERTIBLE, _OUTPUT, *SOURCE_FLAGS],
)
@with_objects
async def list_objects(objects: StoredObjects, crd: str, output: str, *, mislabelled: bool, unconvertible: bool) -> int:
    """List the objects of all CRDs or of CRD that cannot be read, why, and which version they fit."""
    if mislabelled and unconvertible:
        raise click.UsageError("either --mislabelled or --unconvertible can be given")
    from apiext.tools.rescue.rescue import SEARCHES

    search = SEARCHES["mislabelled" if mislabelled else "unconvertible" if unconvertible else "unreadable"]
    rows: list[Any] = []
    for definition in await _definitions(objects, crd):
        cases = [case async for case in search.find(objects, definition)]
        rows += [_document(case) for case in cases]
        if cases and output == "text":
            waits = "; its deletion waits for these objects" if definition.is_terminating else ""
            click.echo(f"{definition.name} (stored in {definition.storage_version.name}{waits})")
            for case in cases:
                click.echo(f"  {_title(case)}\n      {printable(case.object.problem)[:_SHOWN_BYTES]}")
    if output == "json":
        import orjson

        click.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2))
    elif not rows:
        click.echo(search.nothing_found)
    return 0


@rescue.command(
    short_help="Show an object's bytes, and how they violate each schema.",
    params=[
        _CRD,
        _OBJECT,
        click.Option(["--bytes", "limit"], type=click.IntRange(1), default=_SHOWN_BYTES, help="Bytes to show (default 4096)."),
        *SOURCE_FLAGS,
    ],
)
@with_objects
async def show(objects: StoredObjects, crd: str, key: str, limit: int) -> int:
    """Show the bytes of an object, and their violations of the schema of each version."""
    from apiext.tools.rescue.rescue import inspect

    (definition,) = await _definitions(objects, crd)
    case = await inspect(objects, definition, key)
    click.echo(f"{_title(case)}, revision {case.object.revision}")
    click.echo(printable(case.object.problem)[:limit] or "can be read")
    for fit in case.fits:
        _show_fit(fit)
    click.echo("\n".join(readable(case.data, limit)))
    return 0


@rescue.command(
    short_help="Write the bytes of objects to files.",
    params=[_CRD, _ANY_OBJECT, _ALL, click.Option(["--to"], metavar="DIR", required=True, help="Directory of the files."), *SOURCE_FLAGS],
)
@with_objects
async def export(objects: StoredObjects, crd: str, key: str, to: str, *, every: bool) -> int:
    """Write the bytes of an object to the file DIR/CRD/NAMESPACE/NAME."""
    from apiext.tools.rescue.object_files import export as write

    async for case in _chosen(objects, crd, key, every=every):
        click.echo(write(case, to))
    return 0


@rescue.command(
    short_help="Label an object with the version whose fields it has.",
    params=[
        _CRD,
        _ANY_OBJECT,
        _ALL,
        _MISLABELLED,
        click.Option(
            ["--version"], metavar="VERSION", default="", help="Version whose fields the object has (default the one that it fits)."
        ),
        click.Option(["--encode"], is_flag=True, help="Convert the object to the storage version."),
        click.Option(["--from", "source"], metavar="FILE", help="Take the object from a file, such as an export that was repaired."),
        _YES,
        *SOURCE_FLAGS,
    ],
)
@with_objects
async def rewrite(objects: StoredObjects, crd: str, key: str, *, every: bool, mislabelled: bool, yes: bool, **how: Any) -> int:
    """Label an object with the version whose fields it has, so that it can be read."""
    from apiext.resources.stored_objects.interface import RescueError
    from apiext.tools.rescue.rescue import relabelled, replaced

    text = _text(how["source"]) if how["source"] else None
    if text is not None and (every or not key):
        raise click.UsageError("--from replaces a single OBJECT")
    failed = 0
    async for case in _chosen(objects, crd, key, every=every, mislabelled=mislabelled):
        name = printable(case.object.key)
        try:
            version, encode = how["version"], how["encode"]
            new = (
                relabelled(case, version, encode=encode)
                if text is None
                else replaced(case.definition, case.object.key, text, version, encode=encode)
            )
            if yes:
                await objects.replace(case.definition, case.object.key, new.data, revision=case.object.revision, encode=encode)
        except RescueError as error:
            failed += 1
            click.echo(f"{name}: not rewritten: {error}", err=True)
            continue
        goal = f"as {new.version}" + (f", converted to {case.definition.storage_version.name}" if encode else "")
        click.echo(f"{name}: {'rewritten' if yes else 'would be rewritten'} {goal}")
        for path in new.dropped[:_SHOWN_PROBLEMS]:
            click.echo(f"  {printable(path)} {'is' if yes else 'would be'} lost: the version does not have it")
    return _finish(failed, yes=yes)


@rescue.command(
    params=[
        _CRD,
        _ANY_OBJECT,
        _ALL,
        click.Option(["--export-to"], metavar="DIR", help="Export each object to this directory before it is deleted."),
        _YES,
        *SOURCE_FLAGS,
    ]
)
@with_objects
async def delete(objects: StoredObjects, crd: str, key: str, export_to: str | None, *, every: bool, yes: bool) -> int:
    """Delete an object that cannot be read. Its finalizers are ignored."""
    from apiext.resources.stored_objects.interface import RescueError
    from apiext.tools.rescue.object_files import export as write

    failed = 0
    async for case in _chosen(objects, crd, key, every=every):
        name = printable(case.object.key)
        try:
            if not case.object.problem:
                raise RescueError("it can be read: delete it through the API")
            if export_to and yes:
                click.echo(f"{name}: exported to {write(case, export_to)}")
            if yes:
                await objects.delete(case.definition, case.object.key, revision=case.object.revision)
        except RescueError as error:
            failed += 1
            click.echo(f"{name}: not deleted: {error}", err=True)
            continue
        click.echo(f"{name}: {'deleted' if yes else 'would be deleted'} ({printable(case.object.problem)[:200]})")
    return _finish(failed, yes=yes)


def _finish(failed: int, *, yes: bool) -> int:
    if not yes:
        click.echo(_NOT_DONE)
    return 1 if failed else 0


async def _definitions(objects: StoredObjects, name: str) -> list[Definition]:
    """Return the named definition, or all of them. Raise UsageError if there is no such definition."""
    found = [definition for definition in await objects.definitions() if name in ("", definition.name)]
    if name and not found:
        raise click.UsageError(f"there is no definition {name}")
    return found


async def _chosen(objects: StoredObjects, crd: str, key: str, *, every: bool, mislabelled: bool = False) -> AsyncIterator[Case]:
    """Yield the named object, or all of them. Raise UsageError for both or neither, or for a missing object."""
    from apiext.tools.rescue.rescue import SEARCHES, inspect

    if bool(key) == every:
        raise click.UsageError("either OBJECT or --all is needed")
    (definition,) = await _definitions(objects, crd)
    if key:
        yield await inspect(objects, definition, key)
        return
    # find all first: writes must not change the search
    search = SEARCHES["mislabelled" if mislabelled else "unreadable"]
    for case in [case async for case in search.find(objects, definition)]:
        yield case


def _title(case: Case) -> str:
    found = case.object
    label = f"labelled {printable(found.api_version)}" if found.api_version else "without a readable apiVersion"
    fit = f"fits {case.best.version}" if case.best is not None else "; ".join(map(str, case.fits)) or "not a JSON object"
    return f"{printable(found.key)}: {counted(found.size, 'byte')}, {label}, {fit}"


def _show_fit(fit: VersionFit) -> None:
    click.echo(str(fit))
    problems = [*(f"unknown field {path}" for path in fit.unknown), *fit.invalid]
    for problem in problems[:_SHOWN_PROBLEMS]:
        click.echo(f"  {printable(problem)[:200]}")


def _document(case: Case) -> dict[str, Any]:
    found = case.object
    return {
        "definition": case.definition.name,
        "key": found.key,
        "resourceVersion": str(found.revision),
        "size": found.size,
        "apiVersion": found.api_version,
        "problem": found.problem,
        "versions": [{"name": fit.version, "unknown": fit.unknown, "invalid": fit.invalid} for fit in case.fits],
    }


def _text(path: str) -> bytes:
    try:
        return Path(path).expanduser().read_bytes()
    except OSError as error:
        raise click.UsageError(f"--from: {path}: {error.strerror}") from error
