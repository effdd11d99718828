"""Measures the migration of stored objects to another version by a StorageVersionMigration."""

import contextlib
import copy
import http.client
import time
from collections.abc import Callable
from typing import Any, Final

from hack.lib.bench import workload
from hack.lib.bench.client import Client
from hack.lib.bench.loadgen import Result
from hack.lib.bench.targets import Reference, Target

LABEL: Final = "migration"
_PLURAL: Final = "migrateds"
_DEFINITION: Final = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{_PLURAL}.{workload.GROUP}"
_MIGRATIONS: Final = "/apis/storagemigration.k8s.io/v1/storageversionmigrations"
_PATIENCE: Final = 600.0
"""Maximum of seconds of a migration."""


def measure(target: Target, client: Client, send: Callable[..., Result], count: int) -> dict[str, float]:
    """Return the seconds of a migration of many objects; `send` runs the load generator.

    For the reference, kube-controller-manager runs meanwhile. A first migration without objects makes it watch the resource.
    """
    client.serve(_definition("v1"))
    body = workload.filled("Migrated", {"name": "migrated-{i}", "namespace": workload.NAMESPACE}, {"sent": "{t}"})
    create = {"Method": "POST", "Path": workload.collection(_PLURAL), "Body": body, "ContentType": "application/json"}
    with target.controllers() if isinstance(target, Reference) else contextlib.nullcontext():
        _migrate(client, "first")
        send(**create, Clients=workload.CLIENTS, Requests=count, Objects=count, Seconds=300)
        found = client.read(_DEFINITION)
        found["spec"]["versions"] = _definition("v2")["spec"]["versions"]
        if client.call("PUT", _DEFINITION, found) != http.client.OK:
            raise RuntimeError("the storage version cannot be changed")
        return {f"migration of {count:,} objects, s": _migrate(client, "second")}


def _definition(storage: str) -> dict[str, Any]:
    """Return a definition with two versions of the same schema."""
    found = workload.crd(_PLURAL, "Migrated")
    (version,) = found["spec"]["versions"]
    found["spec"]["versions"] = [copy.deepcopy(version) | {"name": name, "storage": name == storage} for name in ("v1", "v2")]
    return found


def _migrate(client: Client, name: str) -> float:
    """Create a migration and return the seconds until it has succeeded.

    Raises:
        RuntimeError: It is refused, fails, or takes too long.
    """
    start = time.monotonic()
    head = {"apiVersion": "storagemigration.k8s.io/v1", "kind": "StorageVersionMigration", "metadata": {"name": name}}
    if (
        client.call("POST", _MIGRATIONS, head | {"spec": {"resource": {"group": workload.GROUP, "resource": _PLURAL}}})
        != http.client.CREATED
    ):
        raise RuntimeError("the migration is refused")
    while time.monotonic() < start + _PATIENCE:
        found = {one["type"]: one for one in client.read(f"{_MIGRATIONS}/{name}")["status"].get("conditions", ())}
        if "Failed" in found:
            raise RuntimeError(f"the migration failed: {found['Failed']['message']}")
        if "Succeeded" in found:
            return time.monotonic() - start
        time.sleep(0.02)
    raise RuntimeError(f"the migration has not ended after {_PATIENCE:g} s")
