"""Another release of Kubernetes than the pinned one."""

import json
from pathlib import Path

import pytest

from hack.lib.reference import binaries, golang, other_release

ITS_MODULE = """module k8s.io/kubernetes

go 1.26.0

godebug default=go1.26

replace (
	k8s.io/api => ./staging/src/k8s.io/api
	k8s.io/client-go => ./staging/src/k8s.io/client-go
)
"""


def test_selects_a_folder_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the programs of each version in a folder of its own; those of etcd keep their version."""
    monkeypatch.setenv(binaries.RELEASE, "1.36.3")

    assert binaries.bin_folder().parts[-2:] == ("v1.36.3", "bin")
    assert binaries.PROGRAMS["kubectl"].version() == "1.36.3"
    assert binaries.PROGRAMS["etcd"].version() == binaries.pinned("go.etcd.io/etcd/server/v3")


def test_refuses_a_release_without_patch_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Require a full version in the environment: nothing asks the module proxy at each start of a program."""
    monkeypatch.setenv(binaries.RELEASE, "1.36")

    with pytest.raises(binaries.ProvideError, match=r"APIEXT_KUBERNETES=1\.36 is not a version such as 1\.36\.3"):
        binaries.bin_folder()


def test_writes_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Require the release, with its staging modules in the same number, as it requires them itself."""
    commands: list[list[str]] = []
    (tmp_path / "its.mod").write_text(ITS_MODULE)

    def execute(command: list[str], _label: str, *, log: Path, **_: object) -> None:
        commands.append([str(part) for part in command[1:]])
        log.write_text(f"go: downloading\n{json.dumps({'Version': 'v1.36.3', 'GoMod': str(tmp_path / 'its.mod')})}\n")

    monkeypatch.setattr(golang, "toolchain", lambda *_: Path("go"))
    monkeypatch.setattr(golang, "execute", execute)

    assert other_release.newest_patch("1.36", tmp_path / "ask", tmp_path, lambda _: None) == "1.36.3"
    folder = other_release.module_of("1.36.3", tmp_path / "module", ["k8s.io/kubernetes/cmd/kubectl"], tmp_path, lambda _: None)
    assert (folder / "go.mod").read_text().splitlines()[1:] == [
        "go 1.26.0",
        "godebug default=go1.26",
        "require k8s.io/kubernetes v1.36.3",
        "replace k8s.io/api => k8s.io/api v0.36.3",
        "replace k8s.io/client-go => k8s.io/client-go v0.36.3",
    ]
    assert commands[0] == ["list", "-m", "-json", "k8s.io/kubernetes@v1.36"]
    assert commands[-1] == ["get", "k8s.io/kubernetes/cmd/kubectl@v1.36.3"]
