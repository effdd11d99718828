"""Which files replay the recorded reference, and which ask the live one."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import pytest

from hack.lib.changed_files import latest
from hack.lib.differential.pair import Pair
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


_CASES: Final = pytest.StashKey[Cases]()


def cases(node: pytest.Item | pytest.Collector) -> Cases:
    """Return the cases of this run."""
    return node.session.stash.setdefault(_CASES, Cases())


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
def chosen(request: pytest.FixtureRequest, live: str, ours: ApiextServer) -> Iterator[Pair]:
    """Provide a server beside the reference of the fixture `live`, a pair, or for a file that replays beside what that responded."""
    path, current = recorded(request.path), cases(request.node).current
    if replays(request.config, request.path):
        with closing(Pair(ReplayedSide(Recording.load(path, current)), ours)) as both:
            yield both
    elif WAY == "record":
        kept = Recording(binaries.kubernetes_version(), current)
        with closing(Pair(RecordingSide(request.getfixturevalue(live).reference, kept), ours)) as both:
            yield both
        kept.save(path)
    else:
        yield request.getfixturevalue(live)
