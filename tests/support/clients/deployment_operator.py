"""A kopf operator that makes a Deployment for each widget, and reports its ready pods in the widget's status."""

from typing import Any, Final

import kopf
import kubernetes

GROUP: Final = "deploying.example.com"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Write no events, so that the test sees what the handlers do."""
    settings.posting.enabled = False


@kopf.on.create(GROUP, "widgets")
@kopf.on.update(GROUP, "widgets", field="spec.replicas")
def deploy(spec: kopf.Spec, name: str, namespace: str | None, **_: Any) -> None:
    """Make the Deployment of a widget, or scale it."""
    assert namespace is not None
    labels = {"widget": name}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "example.com/main:1"}]}}
    deployment: Any = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": pod},
    }
    kopf.adopt(deployment)
    api = kubernetes.client.AppsV1Api()
    try:
        api.create_namespaced_deployment(namespace, deployment)
    except kubernetes.client.ApiException as error:
        if error.status != 409:
            raise
        api.patch_namespaced_deployment_scale(name, namespace, {"spec": {"replicas": spec["replicas"]}})


@kopf.on.field("apps", "deployments", field="status.readyReplicas", labels={"widget": kopf.PRESENT})
def report(new: Any, name: str, namespace: str | None, **_: Any) -> None:
    """Report the ready pods of a Deployment in the status of its widget."""
    assert namespace is not None
    api = kubernetes.client.CustomObjectsApi()
    api.patch_namespaced_custom_object(GROUP, "v1", namespace, "widgets", name, {"status": {"ready": new}})
