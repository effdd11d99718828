"""Policies have the reference's warnings about types in their status."""

import itertools
import json
import re
from typing import Any, Final

import pytest

from hack.lib.differential.masking import masked
from hack.lib.differential.pair import Side, Step, nested
from hack.lib.servers.controlplane import ControlPlane
from hack.lib.waiting import until
from tests.differential.cases.admission_objects import CRDS
from tests.differential.cases.policy_types import named
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import GuardedPair, must
from tests.differential.helpers.publication import until_published
from tests.support.builders import admission

pytestmark = pytest.mark.slow
PATH: Final = admission.collection("ValidatingAdmissionPolicy")

_NUMBERED: Final = re.compile(r"(?<=Thing|Plain)\d+")
"""The reference tells types of the same name apart by numbers."""


def test_warnings(guarded: GuardedPair, control_plane: ControlPlane) -> None:
    """Write warnings about expressions that do not fit the schemas of what a policy matches."""
    made = named()
    # an unknown resource makes the reference's controller forget all resources, of which its other workers then know nothing
    last = [policy for policy in made if policy["metadata"]["name"] == "types-unknown-resource"]
    batches = [made[:1], [policy for policy in made[1:] if policy not in last], last]
    theirs: dict[str, Any] = {}
    ours: dict[str, Any] = {}
    # the reference's controller remembers discovery for 30 s, and skips versions without a schema
    for _, side in guarded.sides:
        until_published(side, CRDS)
    controllers = control_plane.controllers("--controllers=validatingadmissionpolicy-status-controller")
    controllers.start()
    try:
        for batch in batches:
            for (_, side), policy in itertools.product(guarded.sides, batch):
                must(side, Step("POST", PATH, policy))
            for (_, side), found in zip(guarded.sides, (theirs, ours), strict=True):
                found.update(_statuses(side, [policy["metadata"]["name"] for policy in batch]))
    finally:
        controllers.stop()
        for (_, side), policy in itertools.product(guarded.sides, made):
            side.raw(Step("DELETE", f"{PATH}/{policy['metadata']['name']}"))

    assert_none([f"reference: {one}\n    apiext:    {other}" for one, other in nested("", theirs, ours)])


def _statuses(side: Side, names: list[str]) -> dict[str, Any]:
    """Return the statuses of policies once they are written."""
    found: dict[str, Any] = {}

    def all_written() -> bool:
        for name in set(names) - found.keys():
            status = json.loads(side.raw(Step("GET", f"{PATH}/{name}"))[1]).get("status") or {}
            if status.get("observedGeneration"):
                found[name] = json.loads(_NUMBERED.sub("*", json.dumps(masked(status))))
        return len(found) == len(names)

    until(all_written, f"the status of {len(names)} policies at {side.url}", patience=60)
    return found
