"""Strategies and defaults of kinds from generated data."""

from typing import Any, Final

import pytest

from apiext.base.meta.builtin_resources import BuiltinResource
from apiext.base.meta.generated.go_types import struct_of
from apiext.base.meta.generated.resources import further_resources
from apiext.base.meta.objectmeta.label_selector import selector_text
from apiext.resources.registry.generated.defaults import STRUCT_DEFAULTS
from apiext.resources.registry.generated.strategies import (
    ApprovalStrategy,
    EphemeralContainersStrategy,
    GeneratedStatusStrategy,
    GeneratedStrategy,
    ResizeStrategy,
)
from apiext.resources.registry.request_context import RequestContext

RESOURCES: Final = {resource.plural: resource for group in further_resources(()) for resource in group.resources}
CONTEXT: Final = RequestContext(namespace="default")


def _typed(plural: str, **members: Any) -> dict[str, Any]:
    """Return an object of a resource with its defaults."""
    resource: BuiltinResource = RESOURCES[plural]
    struct = struct_of(resource.kind)
    found: dict[str, Any] = struct.canonical({"metadata": {"name": "one", "uid": "u"}, **members})
    if default := STRUCT_DEFAULTS.of(struct):
        default(found)
    return found


def _pod(**container: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i", **container}]}


def test_deployment_counts_generations() -> None:
    """Drop the status of a new Deployment; count the changes of spec and annotations, and keep the status."""
    strategy = GeneratedStrategy(RESOURCES["deployments"])
    old = _typed("deployments", spec={"template": {"spec": _pod()}}, status={"replicas": 3})
    strategy.prepare_for_create(CONTEXT, old)
    assert (old["status"], old["metadata"]["generation"]) == ({}, 1)

    same = {**old, "metadata": dict(old["metadata"]), "status": {"replicas": 1}}
    strategy.prepare_for_update(CONTEXT, same, old)
    assert (same["status"], same["metadata"]["generation"]) == ({}, 1)

    for change in ({"spec": {**old["spec"], "replicas": 5}}, {"metadata": {**old["metadata"], "annotations": {"a": "b"}}}):
        changed = {**old, "metadata": dict(old["metadata"]), **change}
        strategy.prepare_for_update(CONTEXT, changed, old)
        assert changed["metadata"]["generation"] == 2


def test_new_status_has_what_go_writes() -> None:
    """Show webhooks the fields of a new status that Go writes when they are empty."""
    replica_set = _typed("replicasets", spec={"template": {"spec": _pod()}}, status={"replicas": 3})
    GeneratedStrategy(RESOURCES["replicasets"], struct_of(RESOURCES["replicasets"].kind)).prepare_for_create(CONTEXT, replica_set)

    assert replica_set["status"] == {"replicas": 0}


def test_status_keeps_the_content() -> None:
    """Change the status only."""
    old = _typed("deployments", spec={"replicas": 1})
    new = {**old, "metadata": dict(old["metadata"]), "spec": {"replicas": 9}, "status": {"replicas": 1}}
    GeneratedStatusStrategy(RESOURCES["deployments"]).prepare_for_update(CONTEXT, new, old)

    assert (new["spec"], new["status"]) == (old["spec"], {"replicas": 1})


@pytest.mark.parametrize(
    "resources, quality",
    [
        ({}, "BestEffort"),
        ({"limits": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
    ],
)
def test_pods_get_a_quality_of_service(resources: dict[str, Any], quality: str) -> None:
    """Derive the class of a new pod from its requests and limits."""
    pod = _typed("pods", spec=_pod(resources=resources))
    GeneratedStrategy(RESOURCES["pods"]).prepare_for_create(CONTEXT, pod)

    assert pod["status"] == {"phase": "Pending", "qosClass": quality}


def test_jobs_select_their_pods() -> None:
    """Give the pods of a new job labels with its name and uid, and select these."""
    job = _typed("jobs", spec={"template": {"metadata": {"labels": {"a": "b"}}, "spec": _pod()}})
    GeneratedStrategy(RESOURCES["jobs"]).prepare_for_create(CONTEXT, job)

    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert job["spec"]["template"]["metadata"]["labels"]["job-name"] == "one"


def test_daemon_sets_count_their_template() -> None:
    """Count the changes of the template in an annotation."""
    strategy = GeneratedStrategy(RESOURCES["daemonsets"])
    old = _typed("daemonsets", spec={"template": {"spec": _pod()}})
    strategy.prepare_for_create(CONTEXT, old)
    new = {**old, "metadata": dict(old["metadata"]), "spec": {**old["spec"], "template": {"spec": _pod(command=["x"])}}}
    strategy.prepare_for_update(CONTEXT, new, old)

    assert set(old["metadata"]["annotations"].values()) == {"1"}
    assert set(new["metadata"]["annotations"].values()) == {"2"}


def test_subresources_of_pods() -> None:
    """Change ephemeral containers and resources only, with a new generation."""
    old = _typed("pods", spec=_pod())
    old["metadata"]["generation"] = 1
    new = {**old, "metadata": dict(old["metadata"]), "spec": {**_pod(image="j", resources={"limits": {"cpu": "2"}}), "hostname": "h"}}
    new["spec"]["ephemeralContainers"] = [{"name": "debug"}]
    added, resized = ({**new, "metadata": dict(old["metadata"])} for _ in range(2))
    EphemeralContainersStrategy(RESOURCES["pods"]).prepare_for_update(CONTEXT, added, old)
    ResizeStrategy(RESOURCES["pods"]).prepare_for_update(CONTEXT, resized, old)

    assert added["spec"] == {**old["spec"], "ephemeralContainers": [{"name": "debug"}]}
    [container] = resized["spec"]["containers"]
    assert (container["image"], container["resources"]) == ("i", {"limits": {"cpu": "2"}})
    assert (added["metadata"]["generation"], resized["metadata"]["generation"]) == (2, 2)


def test_approval_changes_conditions() -> None:
    """Keep the certificate of a request that is approved."""
    old = _typed("certificatesigningrequests", spec={"request": "YQ=="}, status={"certificate": "Yg=="})
    new = {**old, "status": {"conditions": [{"type": "Approved", "status": "True"}]}}
    ApprovalStrategy(RESOURCES["certificatesigningrequests"]).prepare_for_update(CONTEXT, new, old)

    assert new["status"] == {"certificate": "Yg==", "conditions": [{"type": "Approved", "status": "True"}]}


@pytest.mark.parametrize(
    "image, policy",
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("registry:5000/nginx", "Always"),
        ("registry:5000/nginx:1.2", "IfNotPresent"),
        ("nginx@sha256:" + "0" * 64, "IfNotPresent"),
        ("nginx:latest@sha256:" + "0" * 64, "Always"),
    ],
)
def test_pull_policy(image: str, policy: str) -> None:
    """Pull images with the tag latest always."""
    pod = _typed("pods", spec=_pod(image=image))

    assert pod["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_selector_text() -> None:
    """Write a label selector as text."""
    expressions = [{"key": "b", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "Exists"}]
    expressions += [{"key": "d", "operator": "DoesNotExist"}, {"key": "e", "operator": "NotIn", "values": ["z"]}]

    assert selector_text({"matchLabels": {"a": "1"}, "matchExpressions": expressions}) == "a=1,b in (x,y),c,!d,e notin (z)"
    assert selector_text(None) == ""
