"""Names of definitions, operations and tags."""

import pytest

from apiext.api.openapi import naming
from apiext.base.meta.gvk import GroupVersion, GroupVersionKind


def test_custom_definitions_reverse_the_group() -> None:
    """Reverse the labels of the group."""
    assert naming.model_name(GroupVersionKind("a.example.com", "v1", "Widget")) == "com.example.a.v1.Widget"


def test_builtin_definitions_are_named_after_packages() -> None:
    """Return the package names of built-in kinds."""
    assert naming.builtin_model_name(GroupVersionKind("", "v1", "Namespace")) == "io.k8s.api.core.v1.Namespace"


@pytest.mark.parametrize(
    "group, version, operation, tag",
    [
        ("gateway.networking.k8s.io", "v1", "readGatewayNetworkingV1NamespacedX", "gatewayNetworking_v1"),
        ("cluster.x-k8s.io", "v1beta1", "readClusterXK8sIoV1beta1NamespacedX", "clusterXK8sIo_v1beta1"),
        ("", "v1", "readCoreV1NamespacedX", "core_v1"),
        ("3d.example.com", "v1", "readDExampleComV1NamespacedX", "DExampleCom_v1"),
    ],
)
def test_operations_and_tags(group: str, version: str, operation: str, tag: str) -> None:
    """Return IDs in camel case without the suffix k8s.io, and no part that starts with a digit."""
    group_version = GroupVersion(group, version)

    assert naming.operation_id("read", "NamespacedX", group_version) == operation
    assert naming.tag(group_version) == tag


@pytest.mark.parametrize("noun, words", [("Widget", " a "), ("Issuer", " an "), ("Things", " "), ("GatewayClass", " a ")])
def test_articles(noun: str, words: str) -> None:
    """Return no article for a plural; a noun on -ss is singular."""
    assert naming.article(noun) == words


def test_paths_of_documents() -> None:
    """Return a path below api for the core group."""
    assert naming.document_path(GroupVersion("", "v1")) == "api/v1"
    assert naming.document_path(GroupVersion("example.com", "v1")) == "apis/example.com/v1"
