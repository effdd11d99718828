"""Provides actionlint, which checks the workflows of GitHub. The go.mod of hack/actionlint pins its version."""

from functools import cache
from pathlib import Path
from typing import Final

from hack.lib.reference import own_programs

_MODULE: Final = Path(__file__).resolve().parents[3] / "hack" / "actionlint"
_PACKAGE: Final = "github.com/rhysd/actionlint/cmd/actionlint"


@cache
def actionlint() -> Path:
    """Return the path of actionlint; build it first if it is missing.

    Raises:
        BuildError: The build fails.
    """
    return own_programs.build(_MODULE, {_PACKAGE: "actionlint"}) / "actionlint"
