"""Tests of real definitions with generated valid and invalid objects through all verbs: a sample of `hack/differential`."""

import json
import os
import sys
from pathlib import Path
from typing import Final

import pytest

from hack.lib.changed_files import latest
from hack.lib.differential.__main__ import report
from hack.lib.differential.comparison import Plan, compare
from hack.lib.differential.pair import Pair
from hack.lib.real_crds import NO_REAL, REAL, real_crds
from tests.support.builders.seeds import seeded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900), pytest.mark.skipif(not REAL.exists(), reason=NO_REAL)]

ROUNDS: Final = int(os.environ.get("APIEXT_DIFFERENTIAL_ROUNDS", "1"))
"""Objects of each version of a definition that live from creation to deletion."""
SHARE: Final = 0.995
PARTS: Final = 4
"""A run takes every fourth definition, and others on the next day; with --long it takes all."""


def test_generated(pair: Pair, capsys: pytest.CaptureFixture[str], pytestconfig: pytest.Config) -> None:
    """Return equal responses to nearly all of thousands of requests with generated objects."""
    crds = real_crds()
    found = None if pytestconfig.getoption("--long") else latest(Path(__file__).parents[3])
    if found:
        crds = crds[found.day % PARTS :: PARTS]

    outcome = compare(pair, crds, seeded, Plan(rounds=ROUNDS, broken=6 * ROUNDS))

    with capsys.disabled():
        sys.stdout.write(f"\n{report(outcome)}\n")
    assert outcome.share >= SHARE, json.dumps({"compared": outcome.compared, "different": len(outcome.different)})
