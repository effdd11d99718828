"""Tests that nobody loses anything while the versions of a definition evolve: the life that hack/life plays, with fewer objects."""

from pathlib import Path
from typing import Final

import pytest

from hack.lib.life.deployments import WAYS
from hack.lib.life.story import Story, reference_lines
from hack.lib.life.transcript import Line, differences

_OBJECTS: Final = 80
_LONGEST_LIFE: Final = 1.0
"""Maximum of seconds until the kill in a chapter, which lasts as long at least."""
_INTERVAL: Final = 0.02
"""Seconds before each step of a client: the processor belongs to the servers."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long("hack/lib/life", "apiext/operator/adoption"),
    pytest.mark.timeout(900),
]


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> list[Line]:
    """Play the life on the reference."""
    return reference_lines(tmp_path_factory.mktemp("reference"))


@pytest.mark.parametrize("way", ["sqlite", "adopted", "sqlite-rules"])
def test_life(way: str, theirs: list[Line], tmp_path: Path) -> None:
    """Lose no object, field or event under kills, from the first version over a migration to a rollback, and answer as the reference."""
    with WAYS[way](tmp_path) as deployment:
        story = Story(deployment, _OBJECTS, kills=1, longest_life=_LONGEST_LIFE, interval=_INTERVAL)
        lines = story.play()

    assert story.findings.problems == []
    assert differences(theirs, lines) == []
    assert story.faults.kills > 0
