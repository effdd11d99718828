"""Which files of tests one process runs: those that use the same servers, so that each whole run starts them once."""

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from xdist.scheduler import LoadFileScheduling

SHARED: Final = {
    "e2e": (("pods: Pods", "installed: Installed"), ("cluster: Cluster", "kubectl: Kubectl")),
    "differential/access": (("servers: RBACPair",),),
    "differential/admission": (("guarded: GuardedPair", "control_plane: ControlPlane"),),
    "differential/builtin": (("builtin_pair: Pair",),),
    "differential": (("pair: Pair", "control_plane: ControlPlane"),),
    "integration": (("control_plane: ControlPlane",),),
}
"""Fixtures of folders, as tests write them, that start the same servers for all files below, the inner folders first."""

_TAKEN: Final = re.compile(r"(?:def test_\w+|@pytest\.fixture.*\n(?:async )?def \w+)\(([^)]*)\)")
"""What tests and fixtures take."""


class _GroupScheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a file to a process, with all files of its group."""

    def __init__(self, root: Path, config: pytest.Config, log: Any) -> None:
        super().__init__(config, log)
        self._root = root

    def _split_scope(self, nodeid: str) -> str:
        path = str(super()._split_scope(nodeid))
        return group(self._root / path) or path


def scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Return what shares the files among processes with `--dist loadfile`."""
    return _GroupScheduling(config.rootpath, config, log) if config.getoption("dist") == "loadfile" else None


@cache
def group(path: Path) -> str:
    """Return the folder and a fixture that the tests of a file share with other files, nothing if the file is on its own."""
    text = path.read_text()
    own = re.findall(r"^def (\w+)\(", text, re.MULTILINE)
    used = {found[0] for taken in _TAKEN.findall(text) for found in re.finditer(r"\b(\w+): \w+", taken) if found[1] not in own}
    for folder, shared in SHARED.items():
        for fixtures in shared:
            if f"tests/{folder}/" in path.as_posix() and not used.isdisjoint(fixtures):
                return f"{folder} {fixtures[0]}"
    return ""
