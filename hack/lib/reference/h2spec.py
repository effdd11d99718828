"""Provides h2spec, which checks servers of HTTP/2. The go.mod of hack/h2spec pins its version."""

from functools import cache
from pathlib import Path
from typing import Final

from hack.lib.reference import own_programs

_MODULE: Final = Path(__file__).resolve().parents[3] / "hack" / "h2spec"
_PACKAGE: Final = "github.com/summerwind/h2spec/cmd/h2spec"


@cache
def h2spec() -> Path:
    """Return the path of h2spec; build it first if it is missing.

    Raises:
        BuildError: The build fails.
    """
    return own_programs.build(_MODULE, {_PACKAGE: "h2spec"}) / "h2spec"
