"""Which Go toolchain builds the module."""

from pathlib import Path

import pytest

from hack.lib.reference import golang
from hack.lib.reference.binaries import MODULE


def fake_go(folder: Path, version: str) -> Path:
    """Write a `go` that only knows its version, and fails to build."""
    folder.mkdir(parents=True)
    go = folder / "go"
    go.write_text(f'#!/bin/sh\n[ "$1" = env ] && echo {version} && exit 0\necho "missing go.sum entry" >&2\nexit 1\n')
    go.chmod(0o755)
    return go


def ignore(_line: str) -> None:
    """Take a line of progress."""


def test_the_module_says_which_go_it_needs() -> None:
    """The wanted version is the go line of go.mod."""
    assert golang.required(MODULE) >= (1, 26)


def test_a_new_enough_go_on_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A toolchain on PATH that is new enough is the one to use."""
    go = fake_go(tmp_path / "path", "go1.99.1")
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")

    assert golang.toolchain(MODULE, tmp_path / "cache", ignore) == go


def test_an_old_go_on_path_gives_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the toolchain on PATH is too old, the one in the cache folder is used."""
    old = fake_go(tmp_path / "path", "go1.25.5")
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    version = golang.TOOLCHAIN.partition("==")[2]
    cached = tmp_path / "cache" / "go" / version / "lib" / "python3.11" / "site-packages" / "go" / "bin"
    fake_go(cached, "go1.26.6")

    assert golang.toolchain(MODULE, tmp_path / "cache", ignore) == cached / "go"


def test_a_failed_build_says_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that fails is one line with the compiler's last word and the place of the log; no file is left."""
    go = fake_go(tmp_path / "path", "go1.99.1")
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    target = tmp_path / "out" / "bin" / "etcd"
    target.parent.mkdir(parents=True)

    with pytest.raises(golang.BuildError, match=r"^missing go.sum entry \(all of it: .*build-etcd.log\)$"):
        golang.build(MODULE, "example.com/etcd", target, ldflags="", cache=tmp_path, progress=ignore)
    assert list(target.parent.iterdir()) == []
