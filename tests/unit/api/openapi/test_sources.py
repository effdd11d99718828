"""The sources of OpenAPI documents, and the documents."""

import re
from typing import Any, Final

import pytest

from apiext.api.openapi.builtin_definitions import builtin_types, closure, references
from apiext.api.openapi.handler import Source, merged, sources
from apiext.base.meta.builtin_resources import BUILTINS
from tests.support.builders.crds import definition, stored_crd, version

SCALE: Final = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
ROOT: Final = "/apis/example.com/v1"
ITEM: Final = f"{ROOT}/namespaces/{{namespace}}/widgets/{{name}}"
SCHEMA: Final = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"color": {"type": "string", "default": "red"}}}},
}


def _sources(*crds: dict[str, Any]) -> dict[str, Source]:
    return sources([definition(one) for one in crds], BUILTINS)


def _v3(one: dict[str, Any]) -> dict[str, Any]:
    return _sources(one)["apis/example.com/v1"].v3("1.37")


def _v2(*crds: dict[str, Any]) -> dict[str, Any]:
    return merged(_sources(*crds).values()).v2("1.37")


def _one_version(**more: Any) -> dict[str, Any]:
    return stored_crd(versions=[version("v1", storage=True, **more)])


def test_each_served_version_has_a_document() -> None:
    """Return a source for each built-in and each served, established custom version."""
    served = stored_crd(versions=[version("v1", storage=True), version("v2", served=False), version("v3")])
    waiting = stored_crd("others", group="b.example.com", kind="Other", conditions={"Established": "False"})

    assert [path for path, source in _sources(served, waiting).items() if source.customs] == ["apis/example.com/v1", "apis/example.com/v3"]
    assert list(_sources(waiting)) == [
        "api",
        "api/v1",
        "apis",
        "apis/admissionregistration.k8s.io",
        "apis/admissionregistration.k8s.io/v1",
        "apis/apiextensions.k8s.io",
        "apis/apiextensions.k8s.io/v1",
        "apis/coordination.k8s.io",
        "apis/coordination.k8s.io/v1",
        "apis/events.k8s.io",
        "apis/events.k8s.io/v1",
        "apis/flowcontrol.apiserver.k8s.io",
        "apis/flowcontrol.apiserver.k8s.io/v1",
        "apis/rbac.authorization.k8s.io",
        "apis/rbac.authorization.k8s.io/v1",
        "apis/storagemigration.k8s.io",
        "apis/storagemigration.k8s.io/v1",
        "version",
    ]


def test_the_hash_changes_with_a_definition() -> None:
    """Change the hash of a definition's documents and of v2 only."""
    before = _sources(stored_crd(), stored_crd("others", group="b.example.com", kind="Other"))
    after = _sources(stored_crd(generation=2), stored_crd("others", group="b.example.com", kind="Other"))

    assert {path for path in before if before[path].hash != after[path].hash} == {"apis/example.com/v1"}
    assert merged(before.values()).hash != merged(after.values()).hash


def test_paths_of_a_namespaced_resource() -> None:
    """Return the cluster-wide list, the namespaced paths and a path for each subresource."""
    document = _v3(_one_version(subresources={"status": {}, "scale": SCALE}))

    methods = {path: sorted(set(item) - {"parameters"}) for path, item in document["paths"].items()}
    assert methods == {
        f"{ROOT}/widgets": ["get"],
        f"{ROOT}/namespaces/{{namespace}}/widgets": ["delete", "get", "post"],
        ITEM: ["delete", "get", "patch", "put"],
        f"{ITEM}/status": ["get", "patch", "put"],
        f"{ITEM}/scale": ["get", "patch", "put"],
    }


def test_paths_of_a_cluster_resource() -> None:
    """Return no namespaced path for a cluster-scoped resource."""
    document = _v3(stored_crd(scope="Cluster"))

    assert list(document["paths"]) == [f"{ROOT}/widgets", f"{ROOT}/widgets/{{name}}"]
    assert document["paths"][f"{ROOT}/widgets"]["get"]["operationId"] == "listExampleComV1Widget"


def test_an_operation() -> None:
    """Return three media types for a patch, and fieldValidation at the operation, where kubectl reads it."""
    operation = _v3(stored_crd())["paths"][ITEM]["patch"]

    assert operation["operationId"] == "patchExampleComV1NamespacedWidget"
    assert operation["x-kubernetes-group-version-kind"] == {"group": "example.com", "version": "v1", "kind": "Widget"}
    assert [parameter["name"] for parameter in operation["parameters"]] == [
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
    ]
    assert list(operation["requestBody"]["content"]) == [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ]


def test_shares_parameters_of_a_path() -> None:
    """List common parameters once, at the path."""
    parameters = _v3(stored_crd())["paths"][ITEM]["parameters"]

    assert [parameter["name"] for parameter in parameters] == ["name", "namespace", "pretty"]


def test_resolves_every_reference() -> None:
    """Contain all definitions that the document refers to."""
    for source in _sources(_one_version(subresources={"scale": SCALE})).values():
        document = source.v3("1.37")

        assert set(references(document)) <= set(document["components"]["schemas"])


def test_a_kind_and_its_list() -> None:
    """Return group, version, kind and selectable fields for the kind and its list."""
    one = _one_version(schema=SCHEMA, selectableFields=[{"jsonPath": ".spec.color"}])
    schemas = _v3(one)["components"]["schemas"]

    for name in ("Widget", "WidgetList"):
        schema = schemas[f"com.example.v1.{name}"]
        assert schema["x-kubernetes-group-version-kind"] == [{"group": "example.com", "version": "v1", "kind": name}]
        assert schema["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.color"}]


def test_omits_a_schema_that_is_not_structural() -> None:
    """Publish the type alone: kubectl rejects unknown fields beside known ones."""
    schema = {"type": "object", "properties": {"spec": {"properties": {"a": {"type": "string"}}}}}
    (kind,) = [
        schema for name, schema in _v3(_one_version(schema=schema))["components"]["schemas"].items() if name == "com.example.v1.Widget"
    ]

    assert kind == {"type": "object", "x-kubernetes-group-version-kind": kind["x-kubernetes-group-version-kind"]}


def test_v2_merges_everything() -> None:
    """Merge the definitions of all versions, without defaults."""
    document = _v2(_one_version(schema=SCHEMA), stored_crd("others", group="b.example.com", kind="Other"))

    definitions = document["definitions"]
    assert {"com.example.v1.Widget", "com.example.b.v1.Other", "io.k8s.api.core.v1.Namespace"} <= set(definitions)
    assert definitions["com.example.v1.Widget"]["properties"]["spec"]["properties"]["color"] == {"type": "string"}
    assert definitions["com.example.v1.Widget"]["properties"]["metadata"]["$ref"].endswith(".ObjectMeta")


def test_v2_omits_the_schema_with_unknown_fields() -> None:
    """Publish the type alone for a root that preserves unknown fields, which kubectl would reject."""
    schema = _v2(stored_crd())["definitions"]["com.example.v1.Widget"]

    assert sorted(schema) == ["type", "x-kubernetes-group-version-kind"]


def test_v2_shares_parameters() -> None:
    """Share parameters, except those that kubectl reads at the operation."""
    document = _v2(stored_crd())
    parameters = document["paths"][ITEM]["patch"]["parameters"]

    shared = [parameter["$ref"].removeprefix("#/parameters/") for parameter in parameters if "$ref" in parameter]
    assert [document["parameters"][name]["name"] for name in shared] == ["body", "fieldManager", "force"]
    assert [parameter["name"] for parameter in parameters if "$ref" not in parameter] == ["dryRun", "fieldValidation"]


def test_builtin_types_are_complete() -> None:
    """Resolve all references of built-in definitions, each with a description."""
    types = builtin_types()

    assert set(references(types)) <= set(types)
    assert [name for name, schema in types.items() if not schema.get("description")] == []


def test_closure_follows_references() -> None:
    """Return all referenced definitions, and no unknown name."""
    found = closure(["io.k8s.apimachinery.pkg.apis.meta.v1.Status", "no such"])

    assert [name.rpartition(".")[2] for name in found] == ["ListMeta", "ShardInfo", "Status", "StatusCause", "StatusDetails"]


@pytest.mark.parametrize("path", ["api/v1", "apis/apiextensions.k8s.io/v1"])
def test_builtin_documents_have_paths(path: str) -> None:
    """Document built-in resources with their verbs and all media types."""
    document = _sources()[path].v3("1.37")

    assert document["info"] == {"title": "Kubernetes", "version": "1.37"}
    assert document["components"]["securitySchemes"].keys() == {"BearerToken"}
    assert document["paths"][f"/{path}/"]["get"]["operationId"].endswith("V1APIResources")
    assert "post" not in document["paths"].get("/api/v1/namespaces/{name}", {})
    for item in document["paths"].values():
        for method in item.keys() - {"parameters"}:
            assert "application/vnd.kubernetes.protobuf" in item[method]["responses"]["200"]["content"]


def test_watches_of_builtin_kinds() -> None:
    """Document the deprecated watch paths with WatchEvent."""
    paths = _sources()["api/v1"].v3("1.37")["paths"]

    assert {
        path: paths[path]["get"]["operationId"]
        for path in paths
        if "/watch/" in path and re.search("/(events|namespaces)(/{name})?$", path)
    } == {
        "/api/v1/watch/events": "watchCoreV1EventListForAllNamespaces",
        "/api/v1/watch/namespaces": "watchCoreV1NamespaceList",
        "/api/v1/watch/namespaces/{name}": "watchCoreV1Namespace",
        "/api/v1/watch/namespaces/{namespace}/events": "watchCoreV1NamespacedEventList",
        "/api/v1/watch/namespaces/{namespace}/events/{name}": "watchCoreV1NamespacedEvent",
    }
    content = paths["/api/v1/watch/namespaces"]["get"]["responses"]["200"]["content"]
    assert content["application/json;stream=watch"]["schema"]["$ref"].endswith(".WatchEvent")


@pytest.mark.parametrize(
    "path,operation,model",
    [
        ("api", "getCoreAPIVersions", "APIVersions"),
        ("apis", "getAPIVersions", "APIGroupList"),
        ("apis/apiextensions.k8s.io", "getApiextensionsAPIGroup", "APIGroup"),
        ("version", "getCodeVersion", "Info"),
    ],
)
def test_documents_of_discovery(path: str, operation: str, model: str) -> None:
    """Return a document with one path for each discovery path."""
    document = _sources()[path].v3("1.37")
    (item,) = document["paths"].items()

    assert (item[0], item[1].keys(), item[1]["get"]["operationId"]) == (f"/{path}/", {"get"}, operation)
    assert any(name.endswith(f".{model}") for name in document["components"]["schemas"])


def test_groups_of_shared_kinds() -> None:
    """Give DeleteOptions the kinds of the document's groups and of the core group."""
    name = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
    found = {path: source.v3("1.37")["components"]["schemas"].get(name, {}) for path, source in _sources(stored_crd()).items()}
    groups = {path: [kind["group"] for kind in one["x-kubernetes-group-version-kind"]] for path, one in found.items() if one}

    assert groups == {
        "api/v1": [""],
        "apis/admissionregistration.k8s.io/v1": ["", "admissionregistration.k8s.io"],
        "apis/apiextensions.k8s.io/v1": ["", "apiextensions.k8s.io"],
        "apis/coordination.k8s.io/v1": ["", "coordination.k8s.io"],
        "apis/events.k8s.io/v1": ["", "events.k8s.io"],
        "apis/example.com/v1": [""],
        "apis/rbac.authorization.k8s.io/v1": ["", "rbac.authorization.k8s.io"],
        "apis/storagemigration.k8s.io/v1": ["", "storagemigration.k8s.io"],
    }
    assert len(_v2()["definitions"][name]["x-kubernetes-group-version-kind"]) == 13
