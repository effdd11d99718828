"""Installs packages of Debian, where this is Debian and the user is root."""

import os
import shutil
import subprocess
from typing import Final

_SECONDS: Final = 600
"""Seconds that an installation may take."""


class NoPackageError(Exception):
    """A package cannot be installed; the message is one line with the reason."""


def install(package: str) -> None:
    """Install a package.

    Raises:
        NoPackageError: It cannot be installed.
    """
    if os.geteuid() or not shutil.which("apt-get"):
        raise NoPackageError(f"{package} is not installed (Debian: apt-get install {package})")
    for command in (["update"], ["install", "--yes", "--no-install-recommends", package]):
        try:
            subprocess.run(
                ["apt-get", "--quiet", *command],
                check=True,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            )
        except (subprocess.SubprocessError, OSError) as error:
            raise NoPackageError(f"apt-get {command[0]} failed: {error}") from error
