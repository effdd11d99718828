"""Tests of the choice of the Go toolchain, and of builds."""

from pathlib import Path

import pytest

from hack.lib.reference import golang
from hack.lib.reference.binaries import MODULE


def fake_go(folder: Path, version: str) -> Path:
    """Write a `go` that prints a version and fails to build."""
    folder.mkdir(parents=True)
    go = folder / "go"
    go.write_text(f'#!/bin/sh\n[ "$1" = env ] && echo {version} && exit 0\necho "missing go.sum entry" >&2\nexit 1\n')
    go.chmod(0o755)
    return go


def ignore(_line: str) -> None:
    """Ignore a line of progress."""


def test_required_version_comes_from_go_mod() -> None:
    """Read the required version from the go line of go.mod."""
    assert golang.required(MODULE) >= (1, 26)


def test_a_new_enough_go_on_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a toolchain on PATH that is new enough."""
    go = fake_go(tmp_path / "path", "go1.99.1")
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")

    assert golang.toolchain(MODULE, tmp_path / "cache", ignore) == go


def test_an_old_go_on_path_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the toolchain in the cache folder if the one on PATH is too old."""
    old = fake_go(tmp_path / "path", "go1.25.5")
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    version = golang.TOOLCHAIN.partition("==")[2]
    cached = tmp_path / "cache" / "go" / version / "lib" / "python3.11" / "site-packages" / "go" / "bin"
    fake_go(cached, "go1.26.6")

    assert golang.toolchain(MODULE, tmp_path / "cache", ignore) == cached / "go"


def test_a_failed_build_reports_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise BuildError with the last line of the compiler and the path of the log, and leave no file."""
    go = fake_go(tmp_path / "path", "go1.99.1")
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    target = tmp_path / "out" / "bin" / "etcd"
    target.parent.mkdir(parents=True)

    with pytest.raises(golang.BuildError, match=r"^missing go.sum entry \(full log: .*build-etcd.log\)$"):
        golang.build(MODULE, {"example.com/etcd": target}, ldflags="", cache=tmp_path, progress=ignore)
    assert list(target.parent.iterdir()) == []


def test_builds_all_programs_with_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build several commands with one `go build`, and rename the one that Go names `server`."""
    go = tmp_path / "path" / "go"
    go.parent.mkdir()
    calls = tmp_path / "calls"
    go.write_text(
        f'#!/bin/sh\n[ "$1" = env ] && echo go1.99.1 && exit 0\necho "$@" >>{calls}\nwhile [ "$1" != -o ]; do shift; done\n'
        'echo etcd >"$2/server"; echo kubectl >"$2/kubectl"\n'
    )
    go.chmod(0o755)
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    folder = tmp_path / "out" / "bin"
    folder.mkdir(parents=True)
    packages = {"go.etcd.io/etcd/server/v3": folder / "etcd", "k8s.io/kubernetes/cmd/kubectl": folder / "kubectl"}

    golang.build(MODULE, packages, ldflags="", cache=tmp_path, progress=ignore)

    assert {path.name: path.read_text() for path in folder.iterdir()} == {"etcd": "etcd\n", "kubectl": "kubectl\n"}
    assert len(calls.read_text().splitlines()) == 1
