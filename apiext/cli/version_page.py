"""`apiext versions --html`: the version map as one file."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from apiext.cli.releases.interruptible import run_interruptible
from apiext.cli.stored_source import endpoint_of, open_server, open_source, reads_store, storage_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.server.version_map.entries import ProblemReport


def write_page(flags: Mapping[str, Any], file: str, crd: str | None, *, validate: bool) -> None:
    """Write the map of all definitions, or of one, to a file. With `validate` check all objects first.

    Raises:
        UsageError: a flag is invalid.
        ClickException: the server or the store cannot be read, or the file cannot be written.
    """
    page = run_interruptible(_page(flags, crd, validate=validate))
    try:
        Path(file).expanduser().write_bytes(page)
    except OSError as error:
        raise click.ClickException(f"--html: {file}: {error.strerror}") from error


async def _page(flags: Mapping[str, Any], crd: str | None, *, validate: bool) -> bytes:
    from apiext.server.version_map.page import saved_page

    async with AsyncExitStack() as stack:
        read = _of_store if reads_store(flags) else _of_server
        definitions, source = await read(flags, crd, stack, validate=validate)
    if crd and not definitions:
        raise click.ClickException(f'customresourcedefinitions.apiextensions.k8s.io "{crd}" not found')
    saved = f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    return saved_page({"definitions": definitions, "saved": saved, "source": source})


async def _of_server(flags: Mapping[str, Any], crd: str | None, stack: AsyncExitStack, *, validate: bool) -> tuple[list[Object], str]:
    from apiext.api.endpoints.own_paths import VERSION_MAP_DATA

    endpoint = endpoint_of(flags)
    document = await open_server(endpoint, stack)(VERSION_MAP_DATA)
    found = [entry for entry in document["definitions"] if crd in (None, entry["name"])]
    if validate:
        ask = await stack.enter_async_context(open_source(flags))

        async def pages(name: str) -> AsyncIterator[Object]:
            after = ""
            while True:
                page = await ask("invalid", [name], {"continue": after} if after else {})
                yield page
                if not (after := page["continue"]):
                    return

        for entry in found:
            await _check(entry, pages(entry["name"]))
    return found, endpoint.url


async def _check(entry: Object, pages: AsyncIterator[Object]) -> None:
    """Replace the problems in an entry of a server."""
    from apiext.server.version_map.problem_scans import reports

    report: ProblemReport | None = None
    try:
        async for each in reports(pages):
            report = each
    except click.ClickException as error:
        # without its conversion webhook, a definition still has counts
        click.echo(f"{entry['name']}: not validated: {error.message}", err=True)
        return
    if report is not None:
        entry["problems"] = report.summary()
        entry["names"]["problems"] = report.items
        entry["hidden"].pop("problems", None)


async def _of_store(flags: Mapping[str, Any], crd: str | None, stack: AsyncExitStack, *, validate: bool) -> tuple[list[Object], str]:
    from apiext.server.composition.storage_backend import describe_storage
    from apiext.server.offline_map import read_map
    from apiext.server.start_error import StartError
    from apiext.storage.watch_events import FAILURES

    options = storage_of(flags)
    try:
        return await read_map(options, crd, stack, validate=validate), describe_storage(options)
    except (StartError, *FAILURES) as error:
        raise click.ClickException(str(error)) from error
