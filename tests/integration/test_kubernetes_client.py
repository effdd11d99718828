"""Tests of the `kubernetes` package and its dynamic client with the real server."""

from collections.abc import Iterator
from typing import Any, Final

import kubernetes
import kubernetes.dynamic
import kubernetes.watch
import pytest
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import BadRequestError, ConflictError, NotFoundError, ResourceNotFoundError, UnprocessibleEntityError

from hack.lib.servers.apiext_server import ApiextServer
from tests.support.builders.crds import widget, widget_crd
from tests.support.clients.client import Client

GROUP: Final = "dynamic.example.com"
API_VERSION: Final = f"{GROUP}/v1"


def _widget(name: str, **more: Any) -> dict[str, Any]:
    return widget(name, group=GROUP, replicas=1) | more


@pytest.fixture(scope="module")
def api(server: ApiextServer) -> Iterator[kubernetes.client.ApiClient]:
    """Return the package's client with the kubeconfig that the server wrote."""
    with Client(server) as admin:
        admin.define(widget_crd(group=GROUP))
    api = kubernetes.config.new_client_from_config(str(server.kubeconfig))
    yield api
    api.rest_client.pool_manager.clear()
    api.close()


@pytest.fixture(scope="module")
def dynamic(api: kubernetes.client.ApiClient, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the dynamic client with its own cache."""
    return kubernetes.dynamic.DynamicClient(api, cache_file=str(tmp_path_factory.mktemp("discovery") / "cache.json"))


@pytest.fixture
def widgets(dynamic: Any, client: Client) -> Iterator[Any]:
    """Return the resource, and delete its objects after the test."""
    yield dynamic.resources.get(api_version=API_VERSION, kind="Widget")
    client.must("DELETE", f"/apis/{API_VERSION}/namespaces/default/widgets")


def test_discovery(dynamic: Any) -> None:
    """Find custom and built-in resources by group, kind, short form and subresource."""
    widgets = dynamic.resources.get(api_version=API_VERSION, kind="Widget")
    definitions = dynamic.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")

    assert (widgets.name, widgets.namespaced, sorted(widgets.subresources)) == ("widgets", True, ["scale", "status"])
    assert not definitions.namespaced
    assert dynamic.resources.get(api_version="v1", kind="Namespace").get(name="default").status.phase == "Active"
    with pytest.raises(ResourceNotFoundError):
        dynamic.resources.get(api_version=API_VERSION, kind="Gadget")


def test_definition_is_created_and_deleted(dynamic: Any, client: Client) -> None:
    """Find the kind of a new definition once it is established, and no longer after its deletion."""
    definitions = dynamic.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
    created = definitions.create(body=widget_crd("gizmos", "Gizmo", group=GROUP))
    client.until_established(created.metadata.name)
    dynamic.resources.invalidate_cache()
    gizmos = dynamic.resources.get(api_version=API_VERSION, kind="Gizmo")
    gizmos.create(namespace="default", body=_widget("one", kind="Gizmo"))
    definitions.delete(name=created.metadata.name)

    version = created.metadata.resourceVersion
    for event in definitions.watch(name=created.metadata.name, resource_version=version, timeout=30):
        if event["type"] == "DELETED":
            break
    with pytest.raises(NotFoundError):
        gizmos.get(namespace="default")


def test_verbs(widgets: Any) -> None:
    """Create, get, list, replace, patch in three forms, and delete."""
    created = widgets.create(namespace="default", body=_widget("a", metadata={"name": "a", "labels": {"app": "x"}}))
    assert created.spec.size == "m"
    assert widgets.get(name="a", namespace="default").to_dict() == created.to_dict()

    replaced = widgets.replace(namespace="default", body=created.to_dict() | {"spec": {"replicas": 2, "size": "l"}})
    assert (replaced.metadata.generation, replaced.spec.size) == (2, "l")
    merged = widgets.patch(
        name="a", namespace="default", body={"spec": {"size": None, "any": {"b": 1}}}, content_type="application/merge-patch+json"
    )
    assert merged.spec.to_dict() == {"replicas": 2, "size": "m", "any": {"b": 1}}
    patch = [{"op": "replace", "path": "/spec/any/b", "value": [1, "2"]}]
    assert widgets.patch(name="a", namespace="default", body=patch, content_type="application/json-patch+json").spec.any.b == [1, "2"]

    assert [item.metadata.name for item in widgets.get(namespace="default", label_selector="app=x").items] == ["a"]
    assert widgets.get(namespace="default", label_selector="app!=x").items == []
    assert [item.metadata.name for item in widgets.get(field_selector="metadata.name=a").items] == ["a"]
    assert widgets.delete(name="a", namespace="default").status == "Success"
    with pytest.raises(NotFoundError):
        widgets.get(name="a", namespace="default")


def test_errors(widgets: Any) -> None:
    """Raise the client's own exception classes with the server's reason."""
    created = widgets.create(namespace="default", body=_widget("a"))
    stale = created.to_dict()
    widgets.patch(name="a", namespace="default", body={"spec": {"replicas": 5}}, content_type="application/merge-patch+json")

    with pytest.raises(ConflictError) as conflict:
        widgets.create(namespace="default", body=_widget("a"))
    assert conflict.value.summary().endswith('widgets.dynamic.example.com "a" already exists')
    with pytest.raises(ConflictError):
        widgets.replace(namespace="default", body=stale | {"spec": {"replicas": 9}})
    with pytest.raises(UnprocessibleEntityError):
        widgets.create(namespace="default", body=_widget("b", spec={"replicas": "many"}))
    with pytest.raises(BadRequestError) as unreadable:
        widgets.get(namespace="default", label_selector="a b")
    assert unreadable.value.summary().startswith("unable to parse requirement: ")


def test_status_and_scale(widgets: Any) -> None:
    """Change only the status through the status subresource, never through the resource; change the replicas through scale."""
    created = widgets.create(namespace="default", body=_widget("a", status={"replicas": 9}))
    assert "status" not in created.to_dict()

    body = created.to_dict() | {"status": {"replicas": 1}, "spec": {"replicas": 7}}
    replaced = widgets.status.replace(namespace="default", body=body)
    assert (replaced.status.replicas, replaced.spec.replicas, replaced.metadata.generation) == (1, 1, 1)
    widgets.scale.patch(name="a", namespace="default", body={"spec": {"replicas": 3}}, content_type="application/merge-patch+json")
    scale = widgets.scale.get(name="a", namespace="default")
    assert (scale.kind, scale.spec.replicas, scale.status.replicas) == ("Scale", 3, 1)


def test_paging(api: kubernetes.client.ApiClient, widgets: Any) -> None:
    """Return the collection as of the first page, in spite of later writes."""
    names = [f"w{index:02}" for index in range(11)]
    for name in names:
        widgets.create(namespace="default", body=_widget(name))
    custom = kubernetes.client.CustomObjectsApi(api)

    def page(**more: Any) -> Any:
        return custom.list_namespaced_custom_object(GROUP, "v1", "default", "widgets", limit=4, **more)

    first = page()
    widgets.delete(name="w05", namespace="default")
    widgets.create(namespace="default", body=_widget("w09a"))
    pages = [first]
    while token := pages[-1]["metadata"].get("continue"):
        pages.append(page(_continue=token))

    assert [item["metadata"]["name"] for one in pages for item in one["items"]] == names
    assert [one["metadata"].get("remainingItemCount") for one in pages] == [7, 3, None]
    assert {one["metadata"]["resourceVersion"] for one in pages} == {first["metadata"]["resourceVersion"]}


def test_watch_resumes(dynamic: Any, widgets: Any) -> None:
    """Return every change since a resourceVersion once and in order."""
    start = widgets.get(namespace="default").metadata.resourceVersion
    widgets.create(namespace="default", body=_widget("a"))
    widgets.patch(name="a", namespace="default", body={"spec": {"size": "s"}}, content_type="application/merge-patch+json")
    widgets.create(namespace="default", body=_widget("b"))
    widgets.delete(name="a", namespace="default")

    def changes(version: str, count: int) -> list[tuple[str, str, str]]:
        watcher = kubernetes.watch.Watch()
        found = []
        for event in dynamic.watch(widgets, namespace="default", resource_version=version, timeout=30, watcher=watcher):
            metadata = event["object"].metadata
            found.append((event["type"], metadata.name, metadata.resourceVersion))
            if len(found) == count:
                watcher.stop()
        return found

    everything = changes(start, 4)
    assert [event[:2] for event in everything] == [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b"), ("DELETED", "a")]
    assert changes(everything[1][2], 2) == everything[2:]


def test_a_watch_ends_at_its_timeout(api: kubernetes.client.ApiClient, widgets: Any) -> None:
    """End a watch with timeoutSeconds in order after its events."""
    widgets.create(namespace="default", body=_widget("a"))
    custom = kubernetes.client.CustomObjectsApi(api)
    stream = kubernetes.watch.Watch().stream(custom.list_namespaced_custom_object, GROUP, "v1", "default", "widgets", timeout_seconds=1)

    assert [event["object"]["metadata"]["name"] for event in stream] == ["a"]


def test_the_generated_clients(api: kubernetes.client.ApiClient) -> None:
    """Parse namespaces, events, definitions and versions with the generated clients of built-in kinds."""
    core: Any = kubernetes.client.CoreV1Api(api)
    extensions: Any = kubernetes.client.ApiextensionsV1Api(api)
    core.create_namespace(kubernetes.client.V1Namespace(metadata=kubernetes.client.V1ObjectMeta(name="generated")))
    involved = kubernetes.client.V1ObjectReference(kind="Widget", namespace="generated", name="a", api_version=API_VERSION)
    core.create_namespaced_event(
        "generated",
        kubernetes.client.CoreV1Event(
            metadata=kubernetes.client.V1ObjectMeta(generate_name="a-"), involved_object=involved, reason="Tested", type="Normal"
        ),
    )

    events = core.list_namespaced_event("generated", field_selector="involvedObject.name=a").items
    assert [event.reason for event in events] == ["Tested"]
    stored = extensions.read_custom_resource_definition(f"widgets.{GROUP}")
    assert {condition.type: condition.status for condition in stored.status.conditions} == {"NamesAccepted": "True", "Established": "True"}
    assert kubernetes.client.VersionApi(api).get_code().major == "1"
    version = core.read_namespace("generated").metadata.resource_version
    core.delete_namespace("generated")
    watcher = kubernetes.watch.Watch()
    only = "metadata.name=generated"
    for event in watcher.stream(core.list_namespace, field_selector=only, resource_version=version, timeout_seconds=10):
        if event["type"] == "DELETED":
            watcher.stop()
    with pytest.raises(ApiException) as gone:
        core.read_namespace("generated")
    assert gone.value.status == 404
