"""Which files replay the recorded reference, and which ask the live one."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import pytest

from hack.lib.changed_files import latest
from hack.lib.differential.pair import Pair, Side
from hack.lib.differential.recording import Recording, RecordingSide, ReplayedSide
from hack.lib.environments import ROOT
from hack.lib.reference import binaries
from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.seeds import EXPLORING

FOLDER: Final = Path(__file__).parents[1] / "recordings"
WAY: Final = os.environ.get("APIEXT_REFERENCE", "")
"""What all files do: "live", "record" or "replay"."""
TURNS: Final = 10
"""Days in which each file asks the live reference once."""
_SUFFIX: Final = ".json.xz"


class Cases:
    """The names of tests and of fixtures that several tests share, as long as they send requests."""

    def __init__(self) -> None:
        self.current: list[str] = []

    @contextmanager
    def case(self, name: str) -> Iterator[None]:
        """Assign the requests of a block to a case."""
        self.current.append(name)
        try:
            yield
        finally:
            self.current.pop()

    @contextmanager
    def fixture(self, found: pytest.FixtureDef[Any], name: str) -> Iterator[None]:
        """Assign the requests of a fixture to a case: those of the block, its setup, and those of its end. Finalizers run backwards."""
        found.addfinalizer(self.current.pop)
        try:
            with self.case(name):
                yield
        finally:
            found.addfinalizer(lambda: self.current.append(name))


def recorded(path: Path) -> Path:
    """Return the recording of a file of tests, which may not exist."""
    return FOLDER / path.parent.name / f"{path.stem}{_SUFFIX}"


def recordings() -> list[Path]:
    """Return all recordings."""
    return sorted(FOLDER.glob(f"*/*{_SUFFIX}"))


def replays(config: pytest.Config, path: Path) -> bool:
    """Return whether a file replays: in a run of all tests, unless it is the file's day to ask the live reference."""
    if WAY or not recorded(path).exists():
        return WAY == "replay"
    if config.args != config.getini("testpaths") or EXPLORING or binaries.RELEASE in os.environ:
        return False
    found = latest(ROOT)
    return found is not None and crc32(path.relative_to(ROOT).as_posix().encode()) % TURNS != found.day % TURNS


@contextmanager
def replayed(path: Path, cases: Cases, ours: ApiextServer) -> Iterator[Pair]:
    """Replay the reference beside a server."""
    both = Pair(ReplayedSide(Recording.load(recorded(path), cases.current)), ours)
    yield both
    both.close()


@contextmanager
def recording(path: Path, cases: Cases, live: Side, ours: ApiextServer) -> Iterator[Pair]:
    """Record the reference beside a server, and write the recording at the end."""
    kept = Recording(binaries.kubernetes_version(), cases.current)
    both = Pair(RecordingSide(live, kept), ours)
    yield both
    both.close()
    kept.save(recorded(path))
