"""Tests of hack.lib.reference.own_programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hack.lib.reference import golang, own_programs


def test_builds_once_for_each_state_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Build all programs if one is missing, and anew after a change."""
    built: list[Mapping[str, Path]] = []

    def build(_module: Path, packages: Mapping[str, Path], **_: Any) -> None:
        built.append(packages)
        for target in packages.values():
            target.write_text("program")

    monkeypatch.setattr(golang, "build", build)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    sources = tmp_path / "sources"
    (sources / "one").mkdir(parents=True)
    (sources / "one" / "main.go").write_text("package main")
    packages = {"example.com/one": "one", "example.com/two": "two"}

    folder = own_programs.build(sources, packages)
    assert own_programs.build(sources, packages) == folder
    assert built == [{"example.com/one": folder / "one", "example.com/two": folder / "two"}]

    (sources / "one" / "main.go").write_text("package main // changed")
    assert own_programs.build(sources, packages) != folder
    assert len(built) == 2
