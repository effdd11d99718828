"""A Go module that pins the programs of another release of Kubernetes than that of hack/reference."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from hack.lib.reference import golang
from hack.lib.reference.golang import Progress

_KUBERNETES: Final = "k8s.io/kubernetes"
_STAGED: Final = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/", re.MULTILINE)
_GO: Final = re.compile(r"^(?:go|godebug) .+$", re.MULTILINE)


def newest_patch(release: str, folder: Path, cache: Path, progress: Progress) -> str:
    """Return the newest version of a release such as `1.36`, or the given one of three numbers, as the module proxy knows it.

    Raises:
        BuildError: there is none, or the proxy cannot be reached.
    """
    found = _asked(["list", "-m", "-json", f"{_KUBERNETES}@v{release}"], folder, cache, progress)
    return str(found["Version"]).removeprefix("v")


def module_of(version: str, folder: Path, packages: Sequence[str], cache: Path, progress: Progress) -> Path:
    """Write a module at `folder` that requires a version of Kubernetes, with the checksums for packages of it, and return `folder`.

    Kubernetes names its staging modules by folder; as published modules they carry the same release number.

    Raises:
        BuildError: the version does not exist, or the proxy cannot be reached.
    """
    its_own = Path(_asked(["mod", "download", "-json", f"{_KUBERNETES}@v{version}"], folder, cache, progress)["GoMod"]).read_text()
    staged = f"v0.{version.partition('.')[2]}"
    lines = [
        "module apiext.dev/hack/reference",
        *_GO.findall(its_own),
        f"require {_KUBERNETES} v{version}",
        *(f"replace {name} => {name} {staged}" for name in _STAGED.findall(its_own)),
    ]
    (folder / "go.mod").write_text("\n".join(lines) + "\n")
    _run(["get", *(f"{package}@v{version}" for package in packages)], folder, cache, progress)
    return folder


def _asked(arguments: list[str], folder: Path, cache: Path, progress: Progress) -> dict[str, Any]:
    """Return the JSON that a `go` command prints."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "go.mod").exists():
        (folder / "go.mod").write_text("module apiext.dev/hack/reference\n")
    log = _run(arguments, folder, cache, progress)
    text = log.read_text()
    found: dict[str, Any] = json.loads(text[text.index("{") : text.rindex("}") + 1])
    return found


def _run(arguments: list[str], folder: Path, cache: Path, progress: Progress) -> Path:
    go = golang.toolchain(folder, cache, progress)
    log = folder / "go.log"
    golang.execute([go, *arguments], f"{_KUBERNETES}: go {arguments[0]}", cwd=folder, log=log, progress=progress)
    return log
