"""The `kubernetes` package and its dynamic client drive the real server."""

from collections.abc import Iterator
from typing import Any, Final

import kubernetes
import kubernetes.dynamic
import kubernetes.watch
import pytest
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import BadRequestError, ConflictError, NotFoundError, ResourceNotFoundError, UnprocessibleEntityError

from hack.lib.servers.apiext_server import ApiextServer
from tests.support.clients.client import Client
from tests.support.servers.in_process import definition

GROUP: Final = "dynamic.example.com"
API_VERSION: Final = f"{GROUP}/v1"


def _widget(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": "Widget", "metadata": {"name": name}, "spec": {"replicas": 1}} | more


@pytest.fixture(scope="module")
def api(server: ApiextServer) -> Iterator[kubernetes.client.ApiClient]:
    """The package's client, with the kubeconfig that the server wrote."""
    with Client(server) as admin:
        admin.define(definition(group=GROUP))
    api = kubernetes.config.new_client_from_config(str(server.kubeconfig))
    yield api
    api.rest_client.pool_manager.clear()
    api.close()


@pytest.fixture(scope="module")
def dynamic(api: kubernetes.client.ApiClient, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The dynamic client, with a cache of its own."""
    return kubernetes.dynamic.DynamicClient(api, cache_file=str(tmp_path_factory.mktemp("discovery") / "cache.json"))


@pytest.fixture
def widgets(dynamic: Any, client: Client) -> Iterator[Any]:
    """The resource, without objects at the end."""
    yield dynamic.resources.get(api_version=API_VERSION, kind="Widget")
    client.must("DELETE", f"/apis/{API_VERSION}/namespaces/default/widgets")


def test_discovery(dynamic: Any) -> None:
    """The dynamic client finds custom and built-in resources by group, kind, short form and subresource."""
    widgets = dynamic.resources.get(api_version=API_VERSION, kind="Widget")
    definitions = dynamic.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")

    assert (widgets.name, widgets.namespaced, sorted(widgets.subresources)) == ("widgets", True, ["scale", "status"])
    assert not definitions.namespaced
    assert dynamic.resources.get(api_version="v1", kind="Namespace").get(name="default").status.phase == "Active"
    with pytest.raises(ResourceNotFoundError):
        dynamic.resources.get(api_version=API_VERSION, kind="Gadget")


def test_a_kind_comes_and_goes(dynamic: Any, client: Client) -> None:
    """A kind defined by the client is found by it once it is established, and gone with its definition."""
    definitions = dynamic.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
    created = definitions.create(body=definition("gizmos", "Gizmo", group=GROUP))
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
    """Create, get, list, replace, patch in three forms, and delete do what the client asks."""
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
    """Errors arrive as the client's own classes, with the server's reason in them."""
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
    """The status subresource changes status only, the resource never does, and scale changes the replicas."""
    created = widgets.create(namespace="default", body=_widget("a", status={"replicas": 9}))
    assert "status" not in created.to_dict()

    body = created.to_dict() | {"status": {"replicas": 1}, "spec": {"replicas": 7}}
    replaced = widgets.status.replace(namespace="default", body=body)
    assert (replaced.status.replicas, replaced.spec.replicas, replaced.metadata.generation) == (1, 1, 1)
    widgets.scale.patch(name="a", namespace="default", body={"spec": {"replicas": 3}}, content_type="application/merge-patch+json")
    scale = widgets.scale.get(name="a", namespace="default")
    assert (scale.kind, scale.spec.replicas, scale.status.replicas) == ("Scale", 3, 1)


def test_paging(api: kubernetes.client.ApiClient, widgets: Any) -> None:
    """Pages of limit and continue give the collection as it was at the first page, whatever is written meanwhile."""
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
    """A watch gives every change from the resourceVersion that the client has, in order, and once."""
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
    """A watch with timeoutSeconds gives what there is and ends in order."""
    widgets.create(namespace="default", body=_widget("a"))
    custom = kubernetes.client.CustomObjectsApi(api)
    stream = kubernetes.watch.Watch().stream(custom.list_namespaced_custom_object, GROUP, "v1", "default", "widgets", timeout_seconds=1)

    assert [event["object"]["metadata"]["name"] for event in stream] == ["a"]


def test_the_generated_clients(api: kubernetes.client.ApiClient) -> None:
    """The generated clients of built-in kinds take what the server sends: namespaces, events, definitions and versions."""
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
