"""/version: the Kubernetes version that the server implements (apiserver pkg/server/routes/version.go)."""

from __future__ import annotations

import platform
from typing import Final

from apiext import __version__

MAJOR: Final = "1"
MINOR: Final = "37"
GIT_VERSION: Final = f"v{MAJOR}.{MINOR}.1"
"""The Kubernetes release, a semantic version that clients also write as the value of a label: that excludes build metadata ("+"). A
pre-release ("-") would precede the release that charts and operators require.
"""
RELEASE: Final = f"{GIT_VERSION}+apiext.{__version__}"
"""The Kubernetes release and that of apiext."""

_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}


def version_info() -> dict[str, str]:
    """Return the version as the reference's version.Info."""
    machine = platform.machine()
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": str(int(MINOR) - 1),
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": f"apiext-{__version__}",
        "buildDate": "",
        "goVersion": f"python{platform.python_version()}",
        "compiler": platform.python_implementation().lower(),
        "platform": f"{platform.system().lower()}/{_MACHINES.get(machine, machine)}",
    }
