"""Flag `-o FORMAT[=FILE]`: a report in several formats, to stdout and into files."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rich.console import Console

_WIDTH: Final = 160
"""Columns where the output is no terminal."""


class Output(NamedTuple):
    """One output of a command."""

    format: str
    file: str
    """Empty for stdout."""


def output_flag(formats: Sequence[str]) -> click.Option:
    """Return the flag for formats, of which the first is the default."""
    first, *others, last = formats
    names = f"{', '.join([f'{first} (default)', *others])} or {last}"
    help_text = f"{names}, into a file or to stdout; may be repeated."
    return click.Option(["-o", "--output"], metavar="FORMAT[=FILE]", multiple=True, default=(first,), help=help_text)


def parse_outputs(texts: Sequence[str], formats: Sequence[str]) -> list[Output]:
    """Return the outputs that the flag names.

    Raises:
        UsageError: a format is unknown.
    """
    found = [Output(*text.partition("=")[::2]) for text in texts]
    for each in found:
        if each.format not in formats:
            raise click.UsageError(f"-o: {each.format!r} is none of {', '.join(formats)}")
    return found


def write_output(text: str, output: Output) -> None:
    """Write a text to the file of an output, or to stdout.

    Raises:
        ClickException: the file cannot be written.
    """
    if output.file:
        save(Path(output.file).expanduser(), text)
    else:
        click.echo(text, nl=False)


def write_report(output: Output, on_console: Callable[[Console], None], others: Mapping[str, Callable[[], str]]) -> None:
    """Write a report: as text, which `on_console` writes in colours if stdout is a terminal, or in one of the other formats.

    Raises:
        ClickException: the file cannot be written.
    """
    if output == ("text", ""):
        on_console(terminal())
        return
    console, printed = in_memory()
    if output.format == "text":
        on_console(console)
    write_output(others[output.format]() if output.format in others else printed.getvalue(), output)


def save(path: Path, text: str) -> None:
    """Write a text to a file.

    Raises:
        ClickException: the file cannot be written.
    """
    try:
        path.write_text(text)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from error


def terminal() -> Console:
    """Return a console that prints to stdout, in colours if that is a terminal."""
    return _console(width=None if sys.stdout.isatty() else _WIDTH)


def in_memory() -> tuple[Console, io.StringIO]:
    """Return a console without colours, and what it prints."""
    buffer = io.StringIO()
    return _console(file=buffer, width=_WIDTH), buffer


def json_text(document: Any) -> str:
    """Return a document as indented JSON."""
    import orjson

    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def _console(**settings: Any) -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True, emoji=False, markup=False, **settings)
