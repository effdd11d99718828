"""Provides promtool, which checks and tests the alert rules of the manifests. The go.mod of hack/monitoring pins its version."""

from functools import cache
from pathlib import Path
from typing import Final

from hack.lib.reference import own_programs

_MODULE: Final = Path(__file__).resolve().parents[3] / "hack" / "monitoring"
_PACKAGE: Final = "github.com/prometheus/prometheus/cmd/promtool"


@cache
def promtool() -> Path:
    """Return the path of promtool; build it first if it is missing, without the service discovery of clouds.

    Raises:
        BuildError: The build fails.
    """
    return own_programs.build(_MODULE, {_PACKAGE: "promtool"}, tags="remove_all_sd") / "promtool"
