"""Predictions about objects under a changed definition, compared with what kube-apiserver then does."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from hack.lib.foretell.predicted_run import PredictedRun
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.helpers.release_pairs import predicted_run
from tests.support.builders.definition_pairs import PAIRS

pytestmark = pytest.mark.slow

_TOGETHER: Final = 8
"""Pairs that are prepared at the same time."""


@pytest.fixture(scope="module")
def runs(control_plane: ControlPlane) -> Iterator[list[PredictedRun]]:
    """Create all pairs at the same time, and change their definitions."""
    found = [predicted_run(control_plane, pair, f"pairs{number}") for number, pair in enumerate(PAIRS)]
    with ThreadPoolExecutor(_TOGETHER) as pool:
        list(pool.map(PredictedRun.prepare, found))
        yield found
        list(pool.map(PredictedRun.delete, found))


@pytest.mark.parametrize("number", range(len(PAIRS)), ids=[pair.name for pair in PAIRS])
async def test_predictions_come_true(runs: list[PredictedRun], number: int) -> None:
    """Compare reads, label patches, status updates, creates and applies of all objects with their predictions."""
    run = runs[number]
    await run.compare_all()

    assert run.tally.compared
    assert run.reference.refused == {}
    assert run.tally.wrong == []
