"""The code of Crossplane: the CRD of XRDs, XRDs of its tests, and the program of hack/crossplane, which prints the CRDs of XRDs."""

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from hack.lib.reference import binaries, golang, own_programs

_SOURCES: Final = Path(__file__).resolve().parents[2] / "hack" / "crossplane"
_MODULE: Final = "github.com/crossplane/crossplane/v2@v2.3.4"
Json = dict[str, Any]


@cache
def _folder() -> Path:
    return golang.folder_of(_MODULE, _SOURCES, cache=binaries.cache_folder(), progress=print)


def crd_of_xrds() -> Json:
    """Return the CRD of XRDs.

    Raises:
        BuildError: The module cannot be downloaded.
    """
    found: Json = yaml.safe_load((_folder() / "cluster/crds/apiextensions.crossplane.io_compositeresourcedefinitions.yaml").read_text())
    return found


def xrd_files() -> list[Path]:
    """Return the files with XRDs of Crossplane's own tests.

    Raises:
        BuildError: The module cannot be downloaded.
    """
    return sorted((_folder() / "test/e2e/manifests").rglob("definition.yaml"))


def program() -> Path:
    """Return the program, which is built if it is missing.

    Raises:
        BuildError: The build fails.
    """
    return own_programs.build(_SOURCES, {"apiext.dev/hack/crossplane": "crossplane"}) / "crossplane"
