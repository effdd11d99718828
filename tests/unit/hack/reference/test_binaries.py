"""Which program is taken, and what is said when there is none."""

import fcntl
import threading
from pathlib import Path

import pytest

from hack.lib.reference import binaries, golang, provide


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, nothing on PATH, and no toolchain."""

    def no_toolchain(*_args: object) -> Path:
        raise golang.BuildError("no Go here")

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setattr(golang, "toolchain", no_toolchain)
    return tmp_path


def script(path: Path, output: str) -> Path:
    """Write a program that prints one line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{output}'\n")
    path.chmod(0o755)
    return path


def test_versions_come_from_the_module() -> None:
    """The version of a program is the one that go.mod pins."""
    assert binaries.pinned("k8s.io/kubernetes") == "1.37.1"
    assert binaries.PROGRAMS["etcd"].version() == "3.7.0"


def test_a_module_that_is_not_pinned_is_an_error() -> None:
    """A module that go.mod does not require has no version."""
    with pytest.raises(binaries.ProvideError, match=r"does not require example\.com/none"):
        binaries.pinned("example.com/none")


@pytest.mark.parametrize(
    "output,fits",
    [
        ("Kubernetes v1.37.1", True),
        ("Kubernetes v1.37.9", True),
        ("Kubernetes v1.36.1", False),
        ("Kubernetes v1.370.1", False),
        ("nothing of use", False),
    ],
)
def test_major_and_minor_version_must_fit(tmp_path: Path, output: str, fits: bool) -> None:  # noqa: FBT001 -- a table
    """A program fits when its major and minor number are the pinned ones."""
    program = binaries.PROGRAMS["kube-apiserver"]

    assert binaries.fits(script(tmp_path / "kube-apiserver", output), program) is fits


def test_a_program_on_path_is_linked(tmp_path: Path) -> None:
    """A fitting program on PATH is linked into the cache folder."""
    found = script(tmp_path / "path" / "etcd", "etcd Version: 3.7.4")

    assert binaries.binary("etcd").resolve() == found


def test_assets_win_over_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """KUBEBUILDER_ASSETS is asked before PATH."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    script(tmp_path / "path" / "etcd", "etcd Version: 3.7.4")
    found = script(tmp_path / "assets" / "etcd", "etcd Version: 3.7.0")

    assert binaries.binary("etcd").resolve() == found


def test_a_link_is_looked_at_again(tmp_path: Path) -> None:
    """A linked program whose version changed is not used any more."""
    found = script(tmp_path / "path" / "etcd", "etcd Version: 3.7.4")
    binaries.provide(["etcd"])
    script(found, "etcd Version: 3.8.0")

    with pytest.raises(binaries.ProvideError, match="etcd: no Go here"):
        binaries.provide(["etcd"])


def test_what_was_built_is_taken_as_it_is() -> None:
    """A program in the cache folder is not started to look at its version."""
    folder = binaries.bin_folder()
    built = script(folder / "etcd", "no version at all")

    assert binaries.binary("etcd") == built


def test_one_works_and_the_others_wait() -> None:
    """A second call waits for the first, says so, and then finds the program."""
    lines: list[str] = []
    waiting = threading.Event()

    def progress(line: str) -> None:
        lines.append(line)
        waiting.set()

    lock = binaries.bin_folder().parent / "lock"
    lock.parent.mkdir(parents=True)
    second = threading.Thread(target=binaries.provide, args=[["etcd"]], kwargs={"progress": progress})
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        second.start()
        assert waiting.wait(10)
        script(binaries.bin_folder() / "etcd", "etcd Version: 3.7.0")
    second.join(10)

    assert lines == ["another process is providing programs; waiting for it"]


def test_the_command_prints_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    """Without --print-path the command prints the folder of the programs."""
    script(binaries.bin_folder() / "etcd", "")

    assert provide.main(["etcd"]) == 0
    assert capsys.readouterr().out == f"{binaries.bin_folder()}\n"


def test_the_command_prints_a_path(capsys: pytest.CaptureFixture[str]) -> None:
    """With --print-path the command prints the path of that program."""
    built = script(binaries.bin_folder() / "etcd", "")

    assert provide.main(["--print-path", "etcd"]) == 0
    assert capsys.readouterr().out == f"{built}\n"


@pytest.mark.parametrize(
    "name,message",
    [("nginx", "hack/provide: unknown program 'nginx': choose from etcd, "), ("etcd", "hack/provide: etcd: no Go here\n")],
)
def test_the_command_fails_with_one_line(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be provided is one clear line and exit code 1."""
    assert provide.main([name]) == 1

    said = capsys.readouterr()
    assert said.err.startswith(message)
    assert said.err.count("\n") == 1
    assert said.out == ""
