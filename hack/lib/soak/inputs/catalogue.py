"""All hostile inputs, by name."""

from fnmatch import fnmatch
from typing import Final

from hack.lib.soak.hostile import Input, name_of
from hack.lib.soak.inputs import (
    admission,
    connections,
    definitions,
    flows,
    headers,
    json_bodies,
    keywords,
    metadata,
    patches,
    queries,
    readers,
    selectors,
    streams,
    versions,
    yaml_bodies,
)

_FILES: Final = (
    # first, so that their idle workers have ended before the measurement of the memory of all inputs
    versions,
    admission,
    selectors,
    headers,
    flows,
    queries,
    metadata,
    json_bodies,
    yaml_bodies,
    patches,
    connections,
    streams,
    readers,
    definitions,
    keywords,
)
INPUTS: Final[dict[str, Input]] = {name_of(run): run for file in _FILES for run in file.INPUTS}
"""The inputs by the name of their function, with hyphens."""


def select(patterns: list[str]) -> list[Input]:
    """Return the inputs whose names match one of the shell patterns, all without patterns.

    Raises:
        ValueError: A pattern matches no name; the message lists them.
    """
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in INPUTS):
            raise ValueError(f"no input matches {pattern}; they are: {', '.join(INPUTS)}")
    return [run for name, run in INPUTS.items() if not patterns or any(fnmatch(name, pattern) for pattern in patterns)]
