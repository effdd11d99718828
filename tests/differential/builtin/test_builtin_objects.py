"""Objects of built-in kinds: defaults, updates, subresources, tables and managedFields against the reference."""

from collections.abc import Iterator
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.builtin_objects import GRACEFUL, BuiltinObject, builtin_differences, builtin_objects, remove
from tests.differential.helpers.policy_status import copy_status

pytestmark = pytest.mark.slow

_MERGE: Final = {"Content-Type": "application/merge-patch+json"}
_APPLY: Final = {"Content-Type": "application/apply-patch+yaml"}
_TABLE: Final = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
_CONDITION: Final = {"type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "x", "message": "m"}
_OWNER: Final = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "7c5b0d3e-6f0a-4c53-9a57-0d3f4f6f2b11"}
_METADATA: Final = {"labels": {"status": "x"}, "annotations": {"status": "x"}, "ownerReferences": [_OWNER]}
"""Metadata that an update of the status may not change, or parts of it."""


def _life(one: BuiltinObject) -> Iterator[Step]:
    path, kind = one.path, {name: one.obj[name] for name in ("apiVersion", "kind")}
    metadata = {**one.obj["metadata"], "resourceVersion": f"{{rv:{path}}}"}
    yield Step("POST", f"{one.collection}?dryRun=All", one.obj)
    yield Step("POST", one.collection, one.obj)
    yield Step("GET", path, headers=_TABLE)
    yield Step("GET", one.collection, headers=_TABLE)
    yield Step("PATCH", path, {"metadata": {"labels": {"x": "y"}}}, _MERGE)
    yield Step("PATCH", f"{path}?fieldManager=ssa", {**kind, "metadata": {"name": one.name, "annotations": {"k": "v"}}}, _APPLY)
    yield Step("PUT", f"{path}?fieldManager=put", {**one.obj, "metadata": metadata})
    yield Step("GET", f"{path}/status")
    yield Step("GET", f"{path}/scale")
    yield Step("GET", f"{path}/scale", headers=_TABLE)
    yield Step("PATCH", f"{path}/scale?fieldManager=scaler", {"spec": {"replicas": 4}}, _MERGE)
    yield Step("PATCH", f"{path}/status?fieldManager=status", {"status": {"conditions": [_CONDITION]}}, _MERGE)
    yield Step("PATCH", f"{path}/status?fieldManager=metadata", {"metadata": _METADATA}, _MERGE)
    yield Step("GET", path)
    if one.resource.plural not in GRACEFUL:
        yield Step("DELETE", path)


@pytest.mark.parametrize("one", builtin_objects(), ids=lambda one: f"{one.resource.plural}-{one.name}")
def test_life(builtin_pair: Pair, one: BuiltinObject) -> None:
    """Create, show, patch, apply, update, scale and delete an object, and change its status."""
    try:
        found = []
        for step in _life(one):
            found += builtin_differences(builtin_pair, step)
            if one.resource.plural == "validatingadmissionpolicies":
                copy_status(builtin_pair, one.path)
    finally:
        remove(builtin_pair, one)

    assert not found, "\n".join(found)
