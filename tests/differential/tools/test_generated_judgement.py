"""Predictions about generated changes of definitions, compared with what kube-apiserver then does."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from hack.lib.foretell.predicted_run import PredictedRun
from hack.lib.foretell.tally import Tally
from hack.lib.servers.controlplane import ControlPlane
from tests.differential.helpers.release_pairs import predicted_run
from tests.support.builders.generated_pairs import generated_pair
from tests.support.builders.seeds import seeded

pytestmark = pytest.mark.slow

_PAIRS: Final = 16
_TOGETHER: Final = 8


async def test_predictions_come_true(control_plane: ControlPlane) -> None:
    """Compare reads, label patches, status updates, creates and applies of all objects with their predictions."""
    pairs = [await generated_pair(f"generated {number}", seeded(f"pairs {number}")) for number in range(_PAIRS)]
    runs = [predicted_run(control_plane, pair, f"generated{number}", compares_configurations=False) for number, pair in enumerate(pairs)]
    with ThreadPoolExecutor(_TOGETHER) as pool:
        list(pool.map(PredictedRun.prepare, runs))
        for run in runs:
            await run.compare_all()
        list(pool.map(PredictedRun.delete, runs))

    tally = Tally()
    tally.add(run.tally for run in runs)
    assert tally.compared.total() > 10 * _PAIRS
    assert "\n".join(wrong.text for wrong in tally.wrong) == ""
