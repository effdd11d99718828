"""`apiext serve`."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from apiext.base.workers.harmless_signals import ignore_harmless_signals
from apiext.cli.flags import SECTIONS
from apiext.cli.sections import SectionedCommand
from apiext.server.aiohttp_import import import_aiohttp

if TYPE_CHECKING:
    from apiext.server.options.options import ServerOptions

_GC_THRESHOLDS: Final = (1000, 2, 20_000)
"""Thresholds of the three generations. Requests create few reference cycles, but running requests count as new objects: with a first
threshold of 250, collections took 2.5 % of a create. A collection takes 0.3 ms for every 1,000 surviving objects. The second generation
has up to 4,000, so while 400 watches begin, the longest collection takes a millisecond. Full collections take longest, and are rarely
needed.
"""


@click.command(
    cls=SectionedCommand,
    sections=SECTIONS,
    params=[click.Argument(["folder"], required=False, metavar="[FOLDER]")],
    short_help="Serve the CRDs of a folder, and those that clients create.",
)
def serve(folder: str | None, **flags: Any) -> None:
    """Serve the CRDs in the files of FOLDER, and those that clients create, until SIGTERM or SIGINT.

    Without flags: on 127.0.0.1:6443, with an embedded store, generated certificates, and an admin kubeconfig.
    """
    if folder is not None:
        if flags["crd_dir"] is not None:
            raise click.UsageError("FOLDER and --crd-dir name the same: give one of them")
        flags["crd_dir"] = folder
    # imports create no garbage, and collections would take a tenth of the start
    gc.disable()
    begin = time.perf_counter()
    from apiext.base.meta.flags import OptionsError
    from apiext.server.options.flags import read_options
    from apiext.server.start_error import StartError

    try:
        options = read_options(flags)
    except OptionsError as error:
        raise click.ClickException("\n".join(error.problems)) from error
    try:
        _run(options, begin)
    except StartError as error:
        raise click.ClickException(str(error)) from error


def _run(options: ServerOptions, begin: float) -> None:
    import uvloop

    ignore_harmless_signals()
    import_aiohttp()
    from apiext.server.lifecycle import serve as serve_until_stopped
    from apiext.server.observability.log_output import configure_logging

    configure_logging(options.verbosity)
    options.feature_gates.log_warnings()
    options.authentication.log_warnings()
    options.admission_plugins.log_warnings()

    def welcome(facts: dict[str, str]) -> None:
        click.echo(startup_message(facts, time.perf_counter() - begin))

    if options.workers > 1:
        from apiext.server.multiprocess.start import serve_with_workers

        serve_with_workers(options, started=welcome, settle=_settle)
        return

    def started(facts: dict[str, str]) -> None:
        welcome(facts)
        _settle()

    uvloop.run(serve_until_stopped(options, started=started))


def _settle() -> None:
    """Begin to collect garbage, without what a process that has started keeps."""
    gc.freeze()
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()


def startup_message(facts: dict[str, str], seconds: float) -> str:
    """Return what is printed when the server is ready, after so many seconds."""
    rows = dict(facts)
    if "kubeconfig" in rows:
        rows["kubeconfig"] = _short(Path(rows["kubeconfig"]))
        rows["next"] = f"export KUBECONFIG={rows['kubeconfig']}; kubectl api-resources"
    lines = [f"  {name:12}{text}" for name, text in rows.items()]
    return "\n".join([f"apiext is ready ({seconds:.2f} s). Ctrl-C stops it.", *lines])


def _short(path: Path) -> str:
    """Return the path with the home directory as `~`, unless a shell would not expand it."""
    try:
        relative = path.relative_to(Path.home())
    except ValueError:
        return str(path)
    return f"~/{relative}" if " " not in str(relative) else str(path)
