"""The programs of hack/controllers, which use controller-runtime."""

from pathlib import Path
from typing import Final

from hack.lib.reference import own_programs

_SOURCES: Final = Path(__file__).resolve().parents[2] / "hack" / "controllers"
_PACKAGES: Final = {"apiext.dev/controllers/manager": "manager", "apiext.dev/controllers/startup": "startup"}


def program(name: str) -> Path:
    """Return a program, `manager` or `startup`; build both if they are missing.

    Raises:
        BuildError: The build fails.
    """
    return own_programs.build(_SOURCES, _PACKAGES) / name
