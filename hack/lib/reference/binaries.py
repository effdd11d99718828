"""Provides the programs of the reference in the user's cache folder.

The go.mod of hack/reference pins their versions. `provide` takes a program from the first of these places: the cache
folder; `KUBEBUILDER_ASSETS` and `PATH`, if the version fits (it links the program into the cache folder); a build from
the pinned module. It builds all missing programs with one `go build`. `APIEXT_KUBERNETES`, such as `1.36.3`, selects another
version of the Kubernetes programs, which has a folder of its own.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hack.lib.reference import golang, other_release
from hack.lib.reference.filelock import locked
from hack.lib.reference.golang import Progress

MODULE: Final = Path(__file__).resolve().parents[3] / "hack" / "reference"


RELEASE: Final = "APIEXT_KUBERNETES"
"""Environment variable with another version of the Kubernetes programs than the pinned one."""


class ProvideError(Exception):
    """A program cannot be provided; the message is one line with the reason."""


@dataclass(frozen=True)
class Program:
    """One command of the reference."""

    name: str
    package: str
    module: str
    version_args: tuple[str, ...] = ()

    def version(self) -> str:
        """Return the version of the module that the program is built from, such as `1.37.1`."""
        return kubernetes_version() if self.module == _KUBERNETES else pinned(self.module)


_ETCD: Final = "go.etcd.io/etcd/server/v3"
_ETCDCTL: Final = "go.etcd.io/etcd/etcdctl/v3"
_ETCDUTL: Final = "go.etcd.io/etcd/etcdutl/v3"
_KUBERNETES: Final = "k8s.io/kubernetes"

PROGRAMS: Final[Mapping[str, Program]] = {
    program.name: program
    for program in (
        Program("etcd", _ETCD, _ETCD, ("--version",)),
        Program("etcdctl", _ETCDCTL, _ETCDCTL, ("version",)),
        Program("etcdutl", _ETCDUTL, _ETCDUTL, ("version",)),
        Program("kube-apiserver", f"{_KUBERNETES}/cmd/kube-apiserver", _KUBERNETES, ("--version",)),
        Program("kubectl", f"{_KUBERNETES}/cmd/kubectl", _KUBERNETES, ("version", "--client")),
        Program("kube-controller-manager", f"{_KUBERNETES}/cmd/kube-controller-manager", _KUBERNETES, ("--version",)),
        # The reference's stand-alone server of custom resources has no version to check; it is always built.
        Program("apiextensions-apiserver", "k8s.io/apiextensions-apiserver", "k8s.io/apiextensions-apiserver"),
    )
}
DEFAULT: Final = ("etcd", "etcdctl", "etcdutl", "kube-apiserver", "kubectl", "kube-controller-manager")


def pinned(module: str) -> str:
    """Return the version of `module` in go.mod, without the `v`.

    Raises:
        ProvideError: go.mod does not require the module.
    """
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} v(\S+)", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        msg = f"{MODULE / 'go.mod'} does not require {module}"
        raise ProvideError(msg)
    return found[1]


def kubernetes_version() -> str:
    """Return the selected version of Kubernetes.

    Raises:
        ProvideError: `APIEXT_KUBERNETES` is not a full version.
    """
    selected = os.environ.get(RELEASE, "")
    if selected and not re.fullmatch(r"\d+\.\d+\.\d+", selected):
        raise ProvideError(f"{RELEASE}={selected} is not a version such as 1.36.3; hack/provide --kubernetes 1.36 finds the newest one")
    return selected or pinned(_KUBERNETES)


def select_release(release: str, *, progress: Progress = lambda _line: None) -> None:
    """Select another release of the Kubernetes programs for this process, such as `1.36` in its newest version.

    Raises:
        ProvideError: the module proxy does not know it.
    """
    folder = cache_folder() / "reference" / "releases"
    try:
        os.environ[RELEASE] = other_release.newest_patch(release, folder, cache_folder(), progress)
    except golang.BuildError as error:
        raise ProvideError(f"Kubernetes {release}: {error}") from error


def cache_folder() -> Path:
    """Return the folder of this project below `XDG_CACHE_HOME`, by default `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "apiext"


def bin_folder() -> Path:
    """Return the folder of the programs of the selected version of Kubernetes."""
    return cache_folder() / "reference" / f"v{kubernetes_version()}" / "bin"


def binary(name: str) -> Path:
    """Return the path of one program; provide it first if it is missing.

    Raises:
        ProvideError: The program is unknown or cannot be provided.
    """
    return provide([name]) / name


def provide(names: Iterable[str] = DEFAULT, *, progress: Progress = lambda _line: None) -> Path:
    """Provide the programs in the cache folder, and return the folder.

    The call takes a few milliseconds if all are present. Several processes may call it at once: a file lock lets one
    work while the others wait.

    Raises:
        ProvideError: A name is unknown, or a program is neither found nor can be built.
    """
    programs = [_known(name) for name in names]
    folder = bin_folder()
    if all(_present(folder, program) for program in programs):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder.parent / "lock", lambda: progress("another process is providing programs; waiting for it")):
        missing = [program for program in programs if not _present(folder, program) and not _link(folder, program, progress)]
        if missing:
            _build(folder, missing, progress)
    return folder


def _known(name: str) -> Program:
    if name not in PROGRAMS:
        raise ProvideError(f"unknown program {name!r}: choose from {', '.join(PROGRAMS)}")
    return PROGRAMS[name]


def _present(folder: Path, program: Program) -> bool:
    """Report whether the folder contains the program. Check the version of a linked one: its target may have changed."""
    path = folder / program.name
    return fits(path, program) if path.is_symlink() else path.is_file()


def _link(folder: Path, program: Program, progress: Progress) -> bool:
    """Link an installed program into the folder; return false if none has a matching version."""
    for candidate in _candidates(program.name):
        if fits(candidate, program):
            new = folder / f".{program.name}.{os.getpid()}"
            new.symlink_to(candidate.resolve())
            new.replace(folder / program.name)
            progress(f"{program.name}: using {candidate}")
            return True
    return False


def _build(folder: Path, programs: Sequence[Program], progress: Progress) -> None:
    elsewhere = [program for program in programs if program.version() != pinned(program.module)]
    try:
        for module, built in ((MODULE, [one for one in programs if one not in elsewhere]), (None, elsewhere)):
            if built:
                packages = {program.package: folder / program.name for program in built}
                golang.build(module or _other(folder, progress), packages, ldflags=_ldflags(), cache=cache_folder(), progress=progress)
    except golang.BuildError as error:
        raise ProvideError(f"{', '.join(program.name for program in programs)}: {error}") from error


def _other(folder: Path, progress: Progress) -> Path:
    """Return the module of the selected release."""
    packages = [program.package for program in PROGRAMS.values() if program.module == _KUBERNETES]
    return other_release.module_of(kubernetes_version(), folder.parent / "module", packages, cache_folder(), progress)


def _candidates(name: str) -> Iterator[Path]:
    if assets := os.environ.get("KUBEBUILDER_ASSETS"):
        yield Path(assets) / name
    if found := shutil.which(name):
        yield Path(found)


def fits(path: Path, program: Program) -> bool:
    """Report whether the file is the program in a version with the pinned major and minor number."""
    if not program.version_args or not os.access(path, os.X_OK):
        return False
    try:
        done = subprocess.run(
            [path, *program.version_args],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={"PATH": os.defpath, "HOME": "/nonexistent"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = re.search(r"\bv?(\d+\.\d+)\.\d+\S*", done.stdout)
    return found is not None and found[1] == program.version().rpartition(".")[0]


def _ldflags() -> str:
    """Return the linker flags that set the version of the Kubernetes programs, as Kubernetes' hack/lib/version.sh does."""
    version = kubernetes_version()
    major, minor, _patch = version.split(".")
    values = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    return " ".join(["-s -w", *(f"-X {package}.{key}={value}" for package in packages for key, value in values.items())])
