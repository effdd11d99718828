"""The resource of a stored key."""

import pytest

from apiext.storage.value.transforming_backend import ResourceKeys


@pytest.mark.parametrize(
    "key, resource",
    [
        ("/registry/example.com/widgets/default/one", "widgets.example.com"),
        ("/registry/example.com/widgets/one", "widgets.example.com"),
        ("/registry/apiextensions.k8s.io/customresourcedefinitions/a.b", "customresourcedefinitions.apiextensions.k8s.io"),
        ("/registry/secrets/default/one", "secrets"),
        ("/registry/events/default/one", "events"),
        ("/registry/roles/default/one", "roles.rbac.authorization.k8s.io"),
        ("/registry/deployments/default/one", "deployments.apps"),
        ("/registry/storageversions/example.com.widgets", "storageversions.internal.apiserver.k8s.io"),
        ("/registry/services/specs/default/one", "services"),
        ("/registry/services/endpoints/default/one", "endpoints"),
        ("/registry/apiext/host", "None"),
        ("/registry/apiext/replicas/members/one", "None"),
        ("/registry/apiext.dev/host", "None"),
        ("/registry/apiext.dev/companions/one", "None"),
        ("/registry/apiext.dev/widgets/default/one", "widgets.apiext.dev"),
        ("/registry/apiext.dev/replicas/one", "None"),
        ("/elsewhere/secrets/one", "None"),
    ],
)
def test_resource_of_a_key(key: str, resource: str) -> None:
    """The key of kube-apiserver's own kinds lacks the group; apiext's records have no resource."""
    found = ResourceKeys("/registry")

    assert str(found.resource(found.place(key))) == resource
