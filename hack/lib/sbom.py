"""The command behind hack/sbom."""

import subprocess
import sys
from typing import Final

from hack.lib import environments
from hack.lib.environments import ROOT

_LOCK: Final = ROOT / "manifests" / "requirements.lock"


def sbom() -> str:
    """Return the CycloneDX document of the packages of the image, in JSON, without a time and a serial number.

    Raises:
        InstallationError: The tool cannot be installed.
    """
    python = environments.of_lock("sbom", ROOT / "hack" / "requirements-sbom.lock")
    command = [str(python), "-m", "cyclonedx_py", "requirements", "--output-reproducible", "--pyproject", "pyproject.toml", str(_LOCK)]
    return str(subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout)


if __name__ == "__main__":
    try:
        print(sbom())
    except environments.InstallationError as error:
        sys.exit(f"hack/sbom: {error}")
