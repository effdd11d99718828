"""Help in sections: the commands of a group, and the options of a command with many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

_WHOLE: Final = 1000
"""Characters of a summary that click does not cut; longer lines wrap."""


class SectionedGroup(click.Group):
    """A group whose help lists its commands in sections, with their whole summaries."""

    def __init__(self, *args: Any, sections: Mapping[str, Sequence[str]] | None = None, **settings: Any) -> None:
        """Create the group. `sections` are the names of the commands by title, by default all in one; help lists no others."""
        super().__init__(*args, **settings)
        self._sections = sections

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands."""
        sections = self._sections or {"Commands": list(self.commands)}
        width = max(len(name) for names in sections.values() for name in names)
        for title, names in sections.items():
            with formatter.section(title):
                # a title in between: all columns begin at the same place
                formatter.write_dl([(name.ljust(width), self.commands[name].get_short_help_str(_WHOLE)) for name in names])


class SectionedCommand(click.Command):
    """A command whose help lists its options in sections."""

    def __init__(
        self, name: str | None, *, sections: Mapping[str, Sequence[click.Option]], params: Sequence[click.Parameter], **settings: Any
    ) -> None:
        """Create the command with `params`, and the options of all sections, by title."""
        super().__init__(name, params=[*params, *(option for options in sections.values() for option in options)], **settings)
        self.sections = sections

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        for title, options in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(list(_records(ctx, options)))
        listed = {option.name for options in self.sections.values() for option in options}
        others = [option for option in self.get_params(ctx) if isinstance(option, click.Option) and option.name not in listed]
        with formatter.section("Other options"):
            formatter.write_dl(list(_records(ctx, others)))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. As in Go, the argument after a switch without `=` is not its value."""
        options = [param for param in self.params if isinstance(param, click.Option) and isinstance(param.flag_value, str)]
        switches = {name: option.flag_value for option in options for name in option.opts}
        end = args.index("--") if "--" in args else len(args)
        given = [f"{arg}={switches[arg]}" if arg in switches else arg for arg in args[:end]]
        return super().parse_args(ctx, [*given, *args[end:]])


def _records(ctx: click.Context, options: Sequence[click.Option]) -> Iterator[tuple[str, str]]:
    for option in options:
        record = option.get_help_record(ctx)
        if record is not None:
            # a value that begins with = does not follow a space
            yield record[0].replace(" [=", "[="), record[1]
