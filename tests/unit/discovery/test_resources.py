"""Which groups, versions and resources discovery finds."""

from typing import Any

import pytest

from apiext.discovery.resources import Group, Resource, collect, storage_version_hash
from apiext.meta.builtin_resources import BUILTINS, CUSTOM_RESOURCE_DEFINITIONS
from apiext.meta.gvk import GroupVersionKind
from tests.support.builders.crds import crd, definition, version


def _groups(*crds: dict[str, Any]) -> tuple[Group, ...]:
    return collect([definition(one) for one in crds], BUILTINS)


def _only_resource(one: dict[str, Any]) -> Resource:
    (group,) = collect([definition(one)], ())
    return group.versions[0].resources[0]


def test_the_storage_version_hash_is_that_of_the_reference() -> None:
    """The hash is made of group, version and kind."""
    assert storage_version_hash(GroupVersionKind("", "v1", "Namespace")) == "Q3oi5N2YM8M="


def test_definitions_are_hashed_as_the_version_that_was_stored_first() -> None:
    """The reference's hash of CustomResourceDefinition is that of v1beta1."""
    groups = {group.name: group for group in _groups()}

    (resource,) = groups["apiextensions.k8s.io"].versions[0].resources

    assert resource.plural == CUSTOM_RESOURCE_DEFINITIONS.plural
    assert resource.storage_version_hash == "jfWCUB31mvA="


def test_groups_go_by_priority_and_then_by_name() -> None:
    """Built-in groups come first, the core group before all; custom groups follow in the order of their names."""
    names = [group.name for group in _groups(crd(group="b.example.com"), crd(group="a.example.com"))]

    assert names == ["", "apiextensions.k8s.io", "a.example.com", "b.example.com"]


def test_the_preferred_version_comes_first() -> None:
    """Versions of a group are those of all its definitions, in the order of Kubernetes versions."""
    one = crd("as", kind="A", versions=[version("v1beta1"), version("v1", storage=True), version("oddly")])
    other = crd("bs", kind="B", versions=[version("v2alpha1", storage=True), version("v10"), version("v2")])

    (group,) = collect([definition(one), definition(other)], ())

    assert [served.version for served in group.versions] == ["v10", "v2", "v1", "v1beta1", "v2alpha1", "oddly"]


def test_a_version_lists_its_resources_by_plural() -> None:
    """A version has the resources of all definitions that serve it, sorted by plural."""
    (group,) = collect([definition(crd("zs", kind="Z")), definition(crd("as", kind="A"))], ())

    assert [resource.plural for resource in group.versions[0].resources] == ["as", "zs"]


@pytest.mark.parametrize("conditions", [{"Established": "False"}, {"Established": "Unknown"}])
def test_what_is_not_established_is_not_listed(conditions: dict[str, str]) -> None:
    """A definition that is not established has no group in discovery."""
    assert collect([definition(crd(conditions=conditions))], ()) == ()


def test_what_is_not_served_is_not_listed() -> None:
    """A version that is not served is left out, and with it the hash where it is the stored one."""
    (group,) = collect([definition(crd(versions=[version("v1", storage=True, served=False), version("v2")]))], ())

    assert [served.version for served in group.versions] == ["v2"]
    assert group.versions[0].resources[0].storage_version_hash == ""


def test_a_terminating_resource_takes_no_writes() -> None:
    """While a definition is being deleted its objects can be read and deleted only."""
    one = crd(conditions={"Terminating": "True"})
    one["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z"

    assert _only_resource(one).verbs == ("delete", "deletecollection", "get", "list", "watch")


def test_verbs_stand_in_the_reference_order() -> None:
    """The verbs of a custom resource are not sorted: the reference lists them so."""
    verbs = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")

    assert _only_resource(crd()).verbs == verbs


def test_subresources_are_status_and_scale() -> None:
    """The status has the resource's kind, the scale has that of autoscaling/v1."""
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    subresources = {"status": {}, "scale": scale}

    resource = _only_resource(crd(versions=[version("v1", storage=True, subresources=subresources)]))

    assert [(sub.name, str(sub.response_kind)) for sub in resource.subresources] == [
        ("status", "example.com/v1, Kind=Widget"),
        ("scale", "autoscaling/v1, Kind=Scale"),
    ]


def test_a_builtin_version_hides_a_custom_one() -> None:
    """A definition cannot take a version of a group away from the server."""
    groups = {group.name: group for group in _groups(crd("customs", group="apiextensions.k8s.io", kind="Custom"))}

    plurals = [resource.plural for resource in groups["apiextensions.k8s.io"].versions[0].resources]

    assert plurals == ["customresourcedefinitions"]
