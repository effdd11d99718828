"""The installations of apiext that the doctor finds in a cluster."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from apiext.base.meta import host_annotations
from apiext.operator.checks.connections import Answer
from apiext.operator.checks.installations import installations
from apiext.operator.checks.verdict import CheckState
from tests.unit.operator.checks.snapshot_builder import CRD, GROUP, SnapshotBuilder

LEASES: Final = "/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3Dapiext-operator"


@pytest.fixture
def builder(tmp_path: Path) -> SnapshotBuilder:
    """Provide a cluster in which the apiext behind ns/svc has the group."""
    found = SnapshotBuilder(tmp_path)
    found.api_service["metadata"]["annotations"] = {host_annotations.SERVICE: "ns/svc"}
    return found


def lease(namespace: str, service: str, *, holder: str = "one", age: int = 1) -> dict[str, Any]:
    """Return the lease of an operator."""
    renewed = (datetime.now(UTC) - timedelta(seconds=age)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    metadata = {"namespace": namespace, "annotations": {host_annotations.SERVICE: service} if service else {}}
    return {"metadata": metadata, "spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}}


def own(builder: SnapshotBuilder, service: str) -> None:
    """Let the apiext behind a Service own the definition."""
    builder.crd["metadata"] |= {
        "finalizers": [host_annotations.INSTANCES_FINALIZER],
        "annotations": {host_annotations.SERVICE: service},
    }


async def test_names_installations(builder: SnapshotBuilder) -> None:
    """Name each installation with its groups and operators, the checked one first, and ignore leases that nobody renews."""
    builder.host[LEASES] = {
        "items": [lease("ns", "ns/svc"), lease("b", "a/b"), lease("c", "ns/svc", holder=""), lease("d", "ns/svc", age=3600)]
    }
    builder.crd["metadata"]["labels"] = {}
    own(builder, "a/b")

    verdict = await installations(builder.build())

    assert verdict.state is CheckState.OK
    assert verdict.what == f"ns/svc (groups {GROUP}; operator in ns); another one: a/b (groups {GROUP}; operator in b)"


async def test_reports_two_operators_of_one_service(builder: SnapshotBuilder) -> None:
    """Report two operators that lead for the same Service."""
    builder.host[LEASES] = {"items": [lease("ns", "ns/svc"), lease("other", "ns/svc")]}

    verdict = await installations(builder.build())

    assert verdict.state is CheckState.BROKEN
    assert "several operators lead for Service ns/svc, in the namespaces ns, other" in verdict.what


async def test_reports_definitions_that_two_installations_select(builder: SnapshotBuilder) -> None:
    """Report a selected definition that belongs to the apiext behind another Service."""
    own(builder, "a/b")

    verdict = await installations(builder.build())

    assert verdict.state is CheckState.BROKEN
    assert verdict.what == f"{CRD}: selected here, too, but of the apiext behind Service a/b"


async def test_needs_no_right_to_list_leases(builder: SnapshotBuilder) -> None:
    """Name the owners of groups without the right to list leases."""
    builder.host[LEASES] = Answer(403)

    assert (await installations(builder.build())).what == f"ns/svc (groups {GROUP})"
