"""Tests of the choice of a program, and of the errors if there is none."""

import fcntl
import threading
from pathlib import Path

import pytest

from hack.lib.reference import binaries, golang, provide


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an empty cache folder, an empty PATH and no toolchain."""

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
    """Take the version of a program from go.mod."""
    assert binaries.pinned("k8s.io/kubernetes") == "1.37.1"
    assert binaries.PROGRAMS["etcd"].version() == "3.7.0"


def test_a_module_that_is_not_pinned_is_an_error() -> None:
    """Raise ProvideError for a module that go.mod does not require."""
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
    """Accept a program whose major and minor version are the pinned ones."""
    program = binaries.PROGRAMS["kube-apiserver"]

    assert binaries.fits(script(tmp_path / "kube-apiserver", output), program) is fits


def test_a_program_on_path_is_linked(tmp_path: Path) -> None:
    """Link a fitting program on PATH into the cache folder."""
    found = script(tmp_path / "path" / "etcd", "etcd Version: 3.7.4")

    assert binaries.binary("etcd").resolve() == found


def test_assets_win_over_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prefer KUBEBUILDER_ASSETS to PATH."""
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path / "assets"))
    script(tmp_path / "path" / "etcd", "etcd Version: 3.7.4")
    found = script(tmp_path / "assets" / "etcd", "etcd Version: 3.7.0")

    assert binaries.binary("etcd").resolve() == found


def test_the_version_of_a_link_is_checked_again(tmp_path: Path) -> None:
    """Reject a linked program whose version changed."""
    found = script(tmp_path / "path" / "etcd", "etcd Version: 3.7.4")
    binaries.provide(["etcd"])
    script(found, "etcd Version: 3.8.0")

    with pytest.raises(binaries.ProvideError, match="etcd: no Go here"):
        binaries.provide(["etcd"])


def test_a_built_program_is_not_checked() -> None:
    """Take a built program in the cache folder without running it."""
    folder = binaries.bin_folder()
    built = script(folder / "etcd", "no version at all")

    assert binaries.binary("etcd") == built


def test_a_second_call_waits_for_the_lock() -> None:
    """Wait for another call, report that, and then find the program."""
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


@pytest.mark.parametrize("flags, printed", [([], ""), (["--print-path"], "etcd")], ids=["folder", "path"])
def test_the_command_prints_a_path(capsys: pytest.CaptureFixture[str], flags: list[str], printed: str) -> None:
    """Print the folder of the programs, or the path of the program with --print-path."""
    script(binaries.bin_folder() / "etcd", "")

    assert provide.main([*flags, "etcd"]) == 0
    assert capsys.readouterr().out == f"{binaries.bin_folder() / printed}\n"


@pytest.mark.parametrize(
    "name,message",
    [("nginx", "hack/provide: unknown program 'nginx': choose from etcd, "), ("etcd", "hack/provide: etcd: no Go here\n")],
)
def test_the_command_fails_with_one_line(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Print one line and exit with 1 if a program cannot be provided."""
    assert provide.main([name]) == 1

    said = capsys.readouterr()
    assert said.err.startswith(message)
    assert said.err.count("\n") == 1
    assert said.out == ""
