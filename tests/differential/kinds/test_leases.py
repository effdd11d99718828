"""Tests of Leases against the reference."""

from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.kind_steps import creations, life, metadata_steps

pytestmark = pytest.mark.slow

COLLECTION: Final = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
LEASE: Final[dict[str, Any]] = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "kept"}}
SPECS: Final[tuple[Any, ...]] = (
    {},
    None,
    {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 0},
    {"holderIdentity": "a_B:c", "acquireTime": "2020-01-01T00:00:00.000001Z", "renewTime": "2020-01-01T00:00:00Z"},
    {"leaseDurationSeconds": 0, "leaseTransitions": -1},
    {"leaseDurationSeconds": -5},
    {"holderIdentity": None, "leaseDurationSeconds": None, "renewTime": None},
    {"strategy": "OldestEmulationVersion", "preferredHolder": "x"},
    {"strategy": "Other", "preferredHolder": "x"},
    {"preferredHolder": "x"},
    {"acquireTime": "2020-01-01T01:00:00.5+01:00"},
)
MALFORMED: Final[tuple[Any, ...]] = (
    {"leaseDurationSeconds": "1"},
    {"leaseDurationSeconds": 2**40},
    {"renewTime": "yesterday"},
    {"holderIdentity": 1},
    {"unknown": 1},
    [],
)


def test_leases(pair: Pair) -> None:
    """Return equal codes, headers and bodies for dry creations and the life of a lease."""
    steps: list[Step] = [
        *metadata_steps(COLLECTION, LEASE),
        *creations(COLLECTION, LEASE, ({"spec": spec} for spec in (*SPECS, *MALFORMED))),
        *life(
            COLLECTION,
            LEASE | {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
            [{"spec": spec} for spec in SPECS],
            ("metadata.namespace%3Ddefault", "spec.holderIdentity%3Dme"),
        ),
    ]
    compared(pair, steps)
