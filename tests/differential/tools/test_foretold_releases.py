"""Predictions about changes of real definitions, compared with what kube-apiserver then does."""

from typing import Final

import pytest

from hack.lib.foretell.foretelling import foretell
from hack.lib.real_crds import NO_REAL, REAL, real_crds
from hack.lib.servers.controlplane import ControlPlane
from tests.support.builders.seeds import SEED

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not REAL.is_dir(), reason=NO_REAL)]

_PAIRS: Final = (5, 7, 9, 12, 17, 24, 48, 53)
_TOGETHER: Final = 4


def test_predictions_about_real_definitions_come_true(control_plane: ControlPlane) -> None:
    """Compare a sample of what hack/foretell compares."""
    notes: list[str] = []
    tally = foretell(control_plane, real_crds(), _PAIRS, SEED, _TOGETHER, notes.append)

    assert tally.compared.total() > 20 * len(_PAIRS), notes
    assert "\n".join(wrong.text for wrong in tally.wrong) == ""
