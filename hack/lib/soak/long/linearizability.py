"""Runs the checker of hack/linearizability over a recorded history."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.lib.reference import own_programs

SOURCES: Final = Path(__file__).resolve().parents[4] / "hack" / "linearizability"
_NAME: Final = "linearizability"
_PATIENCE: Final = 600.0
"""Seconds that the checker may take."""
_SHOWN: Final = 5


@dataclass(frozen=True)
class Checked:
    """What the checker found: the number of operations and objects, and what is wrong."""

    operations: int
    objects: int
    problems: list[str]


def program() -> Path:
    """Return the checker; build it first if it is missing.

    Raises:
        BuildError: The build fails.
    """
    return own_programs.build(SOURCES, {"apiext.dev/linearizability": _NAME}) / _NAME


def check(history: Path) -> Checked:
    """Check a history.

    Raises:
        CalledProcessError: The file is no history.
        TimeoutExpired: The check takes more than ten minutes.
    """
    with history.open() as lines:
        done = subprocess.run([program()], stdin=lines, capture_output=True, check=True, timeout=_PATIENCE)
    found = json.loads(done.stdout)
    problems = [f"the history of {name} is not linearizable: {json.dumps(steps)}" for name, steps in found["illegal"].items()]
    undecided = [f"the history of {name} is too long to check" for name in found["undecided"]]
    return Checked(found["operations"], found["objects"], [*problems[:_SHOWN], *undecided[:_SHOWN]])
