"""Keys laid out as in kube-apiserver."""

import pytest

from apiext.base.meta.builtin_resources import EVENTS_V1, STORAGE_VERSION_MIGRATIONS, STORAGE_VERSIONS
from apiext.base.meta.gvk import GroupResource
from apiext.storage import keys
from apiext.storage.interface import EVERYTHING, Selection
from tests.support.builders.widgets import where


@pytest.mark.parametrize(
    "prefix,resource,expected",
    [
        ("/registry", GroupResource("example.com", "widgets"), "/registry/example.com/widgets/"),
        ("registry/", GroupResource("", "namespaces"), "/registry/namespaces/"),
        (
            "/a/b",
            GroupResource("apiextensions.k8s.io", "customresourcedefinitions"),
            "/a/b/apiextensions.k8s.io/customresourcedefinitions/",
        ),
        ("/registry", STORAGE_VERSION_MIGRATIONS.stored_resource, "/registry/storageversionmigrations/"),
        ("/registry", EVENTS_V1.stored_resource, "/registry/events/"),
        ("/registry", GroupResource("rbac.authorization.k8s.io", "roles"), "/registry/rbac.authorization.k8s.io/roles/"),
        ("/registry", STORAGE_VERSIONS.stored_resource, "/registry/storageversions/"),
        ("/", GroupResource("example.com", "widgets"), "/example.com/widgets/"),
        ("", GroupResource("example.com", "widgets"), "/example.com/widgets/"),
    ],
)
def test_builds_resource_prefixes(prefix: str, resource: GroupResource, expected: str) -> None:
    """Put the group before the resource, except for resources of kube-apiserver itself, for any slashes in the prefix."""
    assert keys.resource_prefix(prefix, resource) == expected


@pytest.mark.parametrize(
    "scope,key,covered",
    [("", "a/x", True), ("a/", "a/x", True), ("a/", "ab/x", False), ("a/x", "a/x", True), ("a/x", "a/xy", False), ("x", "x", True)],
)
def test_covers_keys_of_a_scope(scope: str, key: str, *, covered: bool) -> None:
    """Match everything, a namespace, or a single key."""
    assert keys.covers(scope, key) is covered


@pytest.mark.parametrize(
    "prefix,selection,expected",
    [
        ("", EVERYTHING, ""),
        ("a/", where("metadata.name=x"), "a/x"),
        ("", where("metadata.name=x"), ""),
        ("", where("metadata.namespace=a"), "a/"),
        ("", where("metadata.name=x,metadata.namespace=a"), "a/x"),
        ("a/", where("metadata.namespace=b"), "a/"),
        ("a/", where("metadata.name!=x"), "a/"),
        ("a/", where("metadata.name=x/y"), "a/"),
        ("", where("metadata.namespace=a/b"), ""),
        ("a/x", where("metadata.name=y"), "a/x"),
    ],
)
def test_narrows_scopes(prefix: str, selection: Selection, expected: str) -> None:
    """Narrow a scope by selectors of a name or namespace, and never widen it."""
    assert keys.narrow(prefix, selection) == expected
