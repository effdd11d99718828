"""Tests that reduced hostile inputs cause bounded work, and that kill -9 loses no acknowledged write: a sample of hack/soak."""

from pathlib import Path
from typing import Final

import pytest

from hack.lib.servers.apiext_server import ApiextServer
from hack.lib.servers.etcd import Etcd
from hack.lib.soak import fleets, hostile, restart, targets
from hack.lib.soak.crash import Crashes
from hack.lib.soak.inputs import catalogue

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
    if store == "sqlite":
        with ApiextServer(tmp_path) as server:
            found = Crashes(server).run(_ROUNDS)
    else:
        with Etcd(tmp_path / "etcd", durable=False) as etcd, ApiextServer(tmp_path, etcd_url=etcd.url) as server:
            found = Crashes(server, etcd).run(_ROUNDS)

    assert found.problems == []
    assert found.acknowledged > 0


@STORES
def test_restart_under_informers(store: str, tmp_path: Path) -> None:
    """Resume the watches of all informers over kill -9 of every server and over a rolling restart; none lists again."""
    with fleets.alone(tmp_path, store, durable=False) as fleet:
        found = restart.Restarts(fleet, _INFORMERS).run(_RESTARTS)

    assert found.problems == []
    assert (found.rounds, found.lists) == (_RESTARTS, 0)
    assert found.events


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_roll_under_informers(tmp_path: Path) -> None:
    """Resume the watches of all informers over a rolling update of two servers behind kube-apiserver; none lists again."""
    with fleets.aggregated(tmp_path, "etcd") as fleet:
        found = restart.Restarts(fleet, _INFORMERS).run(1)

    assert found.problems == []
    assert (found.rounds, found.lists) == (1, 0)
    assert found.events
