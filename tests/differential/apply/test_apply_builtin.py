"""Tests of server-side apply of built-in kinds."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.differential.helpers.write_steps import DOMAIN, MERGE, applied, crds

pytestmark = pytest.mark.slow

NAMESPACE: Final = "/api/v1/namespaces/applied"
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Create definitions on both servers."""
    with pair.served(*crds()):
        yield pair


def test_namespaces(served: Pair) -> None:
    """Apply namespaces, and their subresources."""
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "applied", "labels": {"a": "b"}}}
    compared(
        served,
        [
            applied(NAMESPACE, space),
            applied(NAMESPACE, space),
            applied(NAMESPACE, space | {"spec": {"finalizers": ["a.b/c"]}}),
            applied(NAMESPACE, space | {"spec": {"x": 1}}),
            applied(NAMESPACE, {"metadata": {"name": "applied"}}),
            applied(NAMESPACE, space | {"metadata": {"name": "applied", "labels": {"a": "c"}}}, "fieldManager=y"),
            applied(f"{NAMESPACE}/status", space | {"status": {"conditions": [{"type": "X", "status": "True"}]}}, "fieldManager=y"),
            applied(f"{NAMESPACE}/finalize", space, "fieldManager=y"),
            Step("PATCH", f"{NAMESPACE}?fieldManager=z", {"metadata": {"annotations": {"a": "b"}}}, MERGE),
            Step("GET", NAMESPACE),
            Step("DELETE", NAMESPACE),
        ],
    )
    for side in (served.reference, served.ours):
        side.raw(Step("PUT", f"{NAMESPACE}/finalize", {"metadata": {"name": "applied"}}))


def test_events(served: Pair) -> None:
    """Apply events."""
    path = "/api/v1/namespaces/default/events/applied"
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "applied"},
        "involvedObject": {"kind": "Pod", "name": "x", "namespace": "default"},
        "reason": "Applied",
    }
    compared(
        served,
        [
            applied(path, event),
            applied(path, event | {"count": 2, "source": {"component": "x"}}),
            applied(path, event | {"count": 3}, "fieldManager=y"),
            Step("PATCH", f"{path}?fieldManager=z", {"message": "m"}, MERGE),
            Step("GET", path),
            Step("DELETE", path),
        ],
    )


def test_managers_of_other_event_versions(served: Pair) -> None:
    """Drop the managers of an event that wrote it in events.k8s.io/v1 when it is written in v1."""
    path = "/api/v1/namespaces/default/events/written"
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "written"}, "involvedObject": {"namespace": "default"}}

    def manager(name: str, version: str, operation: str = "Update") -> dict[str, Any]:
        fields = {"fieldsType": "FieldsV1", "fieldsV1": {"f:reason": {}, "f:metadata": {"f:labels": {"f:a": {}}}}}
        return {"manager": name, "operation": operation, "apiVersion": version, "time": "2020-01-01T00:00:00Z", **fields}

    other = "events.k8s.io/v1"
    entries = [manager("a", other), manager("b", other, "Apply"), manager("c", "v1", "Apply"), manager("d", "v1")]
    body = event | {"metadata": {"name": "written", "labels": {"a": "b"}, "managedFields": entries}, "reason": "Written"}
    compared(
        served,
        [
            Step("POST", "/api/v1/namespaces/default/events?fieldManager=c", body),
            Step("PUT", f"{path}?fieldManager=c", body),
            Step("PUT", f"{path}?fieldManager=c", body | {"reason": "Other"}),
            applied(path, event | {"reason": "Applied"}, "fieldManager=a"),
            Step("GET", path),
            Step("DELETE", path),
        ],
    )


def test_definitions(served: Pair) -> None:
    """Apply definitions, and their status."""
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}}}}}
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd: dict[str, Any] = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{DOMAIN}"},
        "spec": {"group": DOMAIN, "names": {"plural": "widgets", "kind": "Widget"}, "scope": "Namespaced", "versions": [version]},
    }
    path = f"{DEFINITIONS}/widgets.{DOMAIN}"
    settled = Step("GET", path, retry=True, until="no conflicts found")
    compared(
        served,
        [
            applied(path, crd),
            settled,
            applied(path, crd),
            applied(path, crd | {"spec": crd["spec"] | {"versions": [version | {"deprecated": True}]}}, "fieldManager=y"),
            applied(path, crd | {"spec": crd["spec"] | {"versions": [version | {"deprecated": True}]}}, "fieldManager=y&force=1"),
            applied(path, crd | {"spec": crd["spec"] | {"x": 1}}),
            applied(path, crd | {"spec": {"group": DOMAIN}}, "fieldManager=z"),
            applied(f"{path}/status", crd | {"status": {"storedVersions": ["v1"]}}, "fieldManager=z"),
            applied(f"{path}/status", crd | {"status": {"conditions": [{"type": "X", "status": "True"}]}}, "fieldManager=z"),
            Step("PATCH", f"{path}?fieldManager=u", {"spec": {"names": {"shortNames": ["w"]}}}, MERGE),
            Step("GET", path, retry=True, until='"w"'),
            Step("DELETE", path),
            Step("GET", path, retry=True, until="NotFound"),
        ],
    )
