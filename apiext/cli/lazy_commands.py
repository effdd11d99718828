"""Commands of a group, each imported when it is run or described: a command does not wait for the modules of the others."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, MutableMapping

import click


class LazyCommands(MutableMapping[str, click.Command]):
    """Commands by name; see click.Group.commands."""

    def __init__(self, modules: Mapping[str, str]) -> None:
        """Create the commands. `modules` define them, under their names."""
        self._commands: dict[str, str | click.Command] = {**modules}

    def __getitem__(self, name: str) -> click.Command:
        """Return the command.

        Raises:
            KeyError: there is none with this name.
            TypeError: the module has another thing under this name.
        """
        command = self._commands[name]
        if isinstance(command, str):
            found = getattr(importlib.import_module(command), name.replace("-", "_"))
            if not isinstance(found, click.Command):
                raise TypeError(f"{command}: {name} is not a command")
            self._commands[name] = command = found
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        """Add a command, or replace it."""
        self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        """Remove a command. Raise KeyError if there is none with this name."""
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(self._commands)

    def __len__(self) -> int:
        """Return the number of commands."""
        return len(self._commands)
