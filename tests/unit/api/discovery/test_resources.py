"""The groups, versions and resources of discovery."""

from typing import Any

import pytest

from apiext.api.discovery.resources import APIGroup, APIResource, collect, storage_version_hash
from apiext.base.meta.builtin_resources import BUILTINS, CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.gvk import GroupVersionKind
from tests.support.builders.crds import definition, stored_crd, version


def _groups(*crds: dict[str, Any]) -> tuple[APIGroup, ...]:
    return collect([definition(one) for one in crds], BUILTINS)


def _only_resource(one: dict[str, Any]) -> APIResource:
    (group,) = collect([definition(one)], ())
    return group.versions[0].resources[0]


def test_the_storage_version_hash_is_that_of_the_reference() -> None:
    """Hash group, version and kind."""
    assert storage_version_hash(GroupVersionKind("", "v1", "Namespace")) == "Q3oi5N2YM8M="


def test_hashes_definitions_as_v1beta1() -> None:
    """Return the hash of v1beta1 for CustomResourceDefinition, as upstream."""
    groups = {group.name: group for group in _groups()}

    (resource,) = groups["apiextensions.k8s.io"].versions[0].resources

    assert resource.plural == CUSTOM_RESOURCE_DEFINITIONS.plural
    assert resource.storage_version_hash == "jfWCUB31mvA="


def test_sorts_groups() -> None:
    """Sort the core group first, then built-in groups, then custom groups by name."""
    names = [group.name for group in _groups(stored_crd(group="b.example.com"), stored_crd(group="a.example.com"))]

    assert names == [
        "",
        "events.k8s.io",
        "rbac.authorization.k8s.io",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "coordination.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "storagemigration.k8s.io",
        "a.example.com",
        "b.example.com",
    ]


def test_sorts_versions() -> None:
    """Return the versions of all definitions of a group in Kubernetes' version order."""
    one = stored_crd("as", kind="A", versions=[version("v1beta1"), version("v1", storage=True), version("oddly")])
    other = stored_crd("bs", kind="B", versions=[version("v2alpha1", storage=True), version("v10"), version("v2")])

    (group,) = collect([definition(one), definition(other)], ())

    assert [served.version for served in group.versions] == ["v10", "v2", "v1", "v1beta1", "v2alpha1", "oddly"]


def test_sorts_resources() -> None:
    """Return the resources of all definitions of a version, sorted by plural."""
    (group,) = collect([definition(stored_crd("zs", kind="Z")), definition(stored_crd("as", kind="A"))], ())

    assert [resource.plural for resource in group.versions[0].resources] == ["as", "zs"]


@pytest.mark.parametrize("conditions", [{"Established": "False"}, {"Established": "Unknown"}])
def test_omits_unestablished_definitions(conditions: dict[str, str]) -> None:
    """Return no group for a definition that is not established."""
    assert collect([definition(stored_crd(conditions=conditions))], ()) == ()


def test_omits_unserved_versions() -> None:
    """Omit a version that is not served, and the hash where it is the storage version."""
    (group,) = collect([definition(stored_crd(versions=[version("v1", storage=True, served=False), version("v2")]))], ())

    assert [served.version for served in group.versions] == ["v2"]
    assert group.versions[0].resources[0].storage_version_hash == ""


def test_terminating_resources_have_no_write_verbs() -> None:
    """Return read and delete verbs only while a definition is being deleted."""
    one = stored_crd(conditions={"Terminating": "True"})
    one["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"

    assert _only_resource(one).verbs == ("delete", "deletecollection", "get", "list", "watch")


def test_keeps_the_references_verb_order() -> None:
    """Return verbs unsorted, in the reference's order."""
    verbs = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")

    assert _only_resource(stored_crd()).verbs == verbs


def test_subresources_are_status_and_scale() -> None:
    """Return the resource's kind for status, and autoscaling/v1 Scale for scale."""
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    subresources = {"status": {}, "scale": scale}

    resource = _only_resource(stored_crd(versions=[version("v1", storage=True, subresources=subresources)]))

    assert [(sub.name, str(sub.response_kind)) for sub in resource.subresources] == [
        ("status", "example.com/v1, Kind=Widget"),
        ("scale", "autoscaling/v1, Kind=Scale"),
    ]


def test_a_builtin_version_hides_a_custom_one() -> None:
    """Replace a custom version by a built-in one of the same name."""
    groups = {group.name: group for group in _groups(stored_crd("customs", group="apiextensions.k8s.io", kind="Custom"))}

    plurals = [resource.plural for resource in groups["apiextensions.k8s.io"].versions[0].resources]

    assert plurals == ["customresourcedefinitions"]
