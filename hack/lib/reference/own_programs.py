"""Builds Go programs of this repository in the user's cache folder, once for each state of their sources."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from hack.lib.reference import binaries, golang
from hack.lib.reference.filelock import locked


def build(sources: Path, packages: Mapping[str, str], *, progress: golang.Progress = print, tags: str = "") -> Path:
    """Return the folder of the programs of the module in `sources`. `packages` maps their import paths to their names.

    Raises:
        BuildError: The build fails.
    """
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources.rglob("*.*")))).hexdigest()[:16]
    folder = binaries.cache_folder() / sources.name / digest / "bin"
    targets = {package: folder / name for package, name in packages.items()}
    if not all(target.exists() for target in targets.values()):
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder.parent / "lock", lambda: progress(f"another process is building {sources.name}; waiting for it")):
            if not all(target.exists() for target in targets.values()):
                golang.build(sources, targets, ldflags="-s -w", cache=binaries.cache_folder(), progress=progress, tags=tags)
    return folder
