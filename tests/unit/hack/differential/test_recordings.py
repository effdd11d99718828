"""The recordings of differential tests."""

from pathlib import Path

import pytest

from hack.lib.differential.recording import Recording
from hack.lib.environments import ROOT
from hack.lib.reference import binaries
from tests.differential.helpers.recordings import recordings


@pytest.mark.parametrize("path", recordings(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_recordings_are_of_the_pinned_version(path: Path) -> None:
    """Name the version of go.mod and a file of tests that exists."""
    assert Recording.load(path).version == binaries.pinned("k8s.io/kubernetes")
    assert (ROOT / "tests" / "differential" / path.parent.name / path.name.replace(".json.xz", ".py")).is_file()
