"""Tests that reduced hostile inputs cause bounded work, and that kill -9 loses no acknowledged write: a sample of hack/soak."""

from pathlib import Path
from typing import Final

import pytest

from hack.lib.soak import crash, hostile, restart, targets
from hack.lib.soak.inputs import catalogue
from hack.lib.soak.long import run as long_run

_OBJECTS: Final = 200
_OF_STORES: Final = [
    "names",
    "*revisions",
    "continue-tokens",
    "growth*",
    "*-objects",
    "objects-*",
    "watchers*",
    "selectors-of-watches",
    "*-of-what-is-stored",
    "migrations-*",
    "many-objects-through-a-webhook",
]
"""Inputs that reach the store; the others are the same on every store."""
_ROUNDS: Final = 3
_INFORMERS: Final = 20
_RESTARTS: Final = 2
STORES: Final = pytest.mark.parametrize("store", ["sqlite", "etcd"])


@pytest.mark.slow
@pytest.mark.long("hack/lib/soak/inputs", "hack/lib/soak/hostile.py", "hack/lib/soak/attack.py")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("store,names", [("sqlite", []), ("etcd", _OF_STORES)], ids=["sqlite", "etcd"])
def test_hostile_inputs(store: str, names: list[str], tmp_path: Path) -> None:
    """Answer every input without a server error, free the memory, log short lines, and serve an ordinary client meanwhile."""
    with targets.alone(tmp_path, store) as target:
        found = hostile.outcomes(target, catalogue.select(names), objects=_OBJECTS, reduced=True)
        violations = {outcome.name: unmet for outcome in found if (unmet := outcome.violations(timed=False))}

    assert violations == {}


@STORES
def test_kill_under_writes(store: str, tmp_path: Path) -> None:
    """Store the acknowledged writes after kill -9 of the server or etcd, use no revision twice, and resume watches without a gap."""
    found = crash.run(tmp_path, store, _ROUNDS, durable=False)

    assert found.problems == []
    assert found.rounds == _ROUNDS
    assert found.acknowledged
    assert found.events


@STORES
def test_restart_under_informers(store: str, tmp_path: Path) -> None:
    """Resume the watches of all informers over kill -9 of every server and over a rolling restart; none lists again."""
    found = restart.run(tmp_path, store, _RESTARTS, informers=_INFORMERS, durable=False)

    assert found.problems == []
    assert (found.rounds, found.lists) == (_RESTARTS, 0)
    assert found.events


@pytest.mark.slow
@pytest.mark.long("hack/lib/soak/restart.py", "hack/lib/soak/fleets.py")
@pytest.mark.timeout(600)
def test_roll_under_informers(tmp_path: Path) -> None:
    """Resume the watches of all informers over a rolling update of two servers behind kube-apiserver; none lists again."""
    found = restart.run(tmp_path, "etcd", 1, informers=_INFORMERS, behind_host=True)

    assert found.problems == []
    assert (found.rounds, found.lists) == (1, 0)
    assert found.events


@pytest.mark.slow
@pytest.mark.long("hack/lib/soak/long", "hack/linearizability")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "store,way,minutes", [("sqlite", "alone", 0.5), ("etcd", "alone", 0.5), ("etcd", "host", 1.0)], ids=["sqlite", "etcd", "host"]
)
def test_long(store: str, way: str, minutes: float, tmp_path: Path) -> None:
    """Show clients one consistent history while servers, members of etcd, networks, disks, clocks and webhooks fail."""
    found = long_run.run(tmp_path, store, minutes, behind_host=way == "host")

    assert found.problems == []
    assert found.operations
    assert found.lists
    assert found.events
    assert found.happened
