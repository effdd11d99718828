"""The command behind hack/sbom."""

import json
import os
import subprocess
import sys
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from hack.lib import environments
from hack.lib.environments import ROOT

_LOCK: Final = ROOT / "manifests" / "requirements.lock"


def sbom() -> str:
    """Return the CycloneDX document of the packages of the image, in JSON, without a time.

    Its serial number, which `actions/attest` wants, follows from its content.

    Raises:
        InstallationError: The tool cannot be installed.
    """
    python = environments.of_lock("sbom", ROOT / "hack" / "requirements-sbom.lock")
    command = [str(python), "-m", "cyclonedx_py", "requirements", "--output-reproducible", "--pyproject", "pyproject.toml", str(_LOCK)]
    # with this variable the tool writes a time
    environment = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT, env=environment).stdout
    document = json.loads(text) | {"serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, text)}"}
    return f"{json.dumps(document, indent=2)}\n"


if __name__ == "__main__":
    try:
        print(sbom(), end="")
    except environments.InstallationError as error:
        sys.exit(f"hack/sbom: {error}")
