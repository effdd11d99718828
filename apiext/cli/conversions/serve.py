"""`apiext convert serve`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from apiext.cli.conversions.serve_flags import FLAGS
from apiext.server.aiohttp_import import import_aiohttp
from apiext.workers.harmless_signals import ignore_harmless_signals

if TYPE_CHECKING:
    from apiext.conversionserver.options import ConvertOptions


@click.command(params=FLAGS)
def serve(**flags: Any) -> None:
    """Serve the conversion webhook of a cluster by its Conversion objects.

    CRDs with the annotation conversion.apiext.dev/strategy=webhook get it as spec.conversion. Runs until SIGTERM or SIGINT. All
    replicas convert; only the leader writes to the cluster.
    """
    begin = time.perf_counter()
    from apiext.meta.flags import OptionsError

    # the options' modules import aiohttp
    import_aiohttp()
    from apiext.conversionserver.options import read_options

    try:
        options = read_options(flags)
    except OptionsError as error:
        raise click.UsageError("\n".join(error.problems)) from error
    _run(options, begin)


def _run(options: ConvertOptions, begin: float) -> None:
    import uvloop

    from apiext.conversionserver.lifecycle import serve_conversions
    from apiext.server.observability.log_output import configure_logging
    from apiext.server.start_error import StartError

    ignore_harmless_signals()
    configure_logging(options.verbosity)

    def started(facts: dict[str, str]) -> None:
        lines = [f"  {name:12}{text}" for name, text in facts.items()]
        click.echo("\n".join([f"apiext converts ({time.perf_counter() - begin:.2f} s). Ctrl-C stops it.", *lines]))

    try:
        uvloop.run(serve_conversions(options, started=started))
    except StartError as error:
        raise click.ClickException(str(error)) from error
