"""The data of built-in kinds: resources, Go structs and OpenAPI definitions that fit together."""

from typing import Final

import pytest

from apiext.api.endpoints.handlers.strategic_keys import keys_from_openapi
from apiext.api.endpoints.handlers.strategic_merge import REPLACE
from apiext.api.serving.generated.endpoints import table_of
from apiext.base.meta.builtin_resources import BUILTINS, CORE_V1, BuiltinResource
from apiext.base.meta.generated import archive
from apiext.base.meta.generated.go_types import definition_name, struct_of
from apiext.base.meta.generated.resources import SCALE, further_resources, joined
from apiext.base.meta.golang.type_model import DecodeError, Decoder
from apiext.base.meta.gvk import GroupResource, GroupVersion, GroupVersionKind
from apiext.resources.managedfields.openapi_types import OpenAPITypes
from apiext.resources.registry.generated.strategies import GeneratedStrategy
from apiext.resources.registry.protobuf import kinds

SCHEMAS: Final = archive.read("schemas")
FURTHER: Final = further_resources(BUILTINS)
RESOURCES: Final = [resource for group in FURTHER for resource in group.resources]
POD: Final = GroupVersionKind("", "v1", "Pod")


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: resource.plural)
def test_every_resource_is_complete(resource: BuiltinResource) -> None:
    """Find the struct, the definition, the message, the columns and the strategy of each resource."""
    struct = struct_of(resource.kind)
    name = definition_name(struct)
    properties = set(SCHEMAS[name]["properties"])

    assert set(struct.by_name) == properties
    assert name.rpartition(".")[0] + f".{resource.list_kind}" in SCHEMAS
    assert kinds.message_of(struct).write(struct.canonical({})) is not None
    assert table_of(resource.plural).headers
    assert OpenAPITypes(SCHEMAS).of(name).map is not None
    assert isinstance(GeneratedStrategy(resource).allow_unconditional_update, bool)


def test_only_further_resources() -> None:
    """Leave out what apiext always serves; join both in one group version."""
    names = {resource.resource for resource in RESOURCES}
    own = {resource.resource for group in BUILTINS for resource in group.resources}
    core = next(group for group in joined(BUILTINS, FURTHER) if group.group_version == GroupVersion("", "v1"))

    assert not names & own
    assert {"pods", "namespaces"} <= {resource.plural for resource in core.resources}
    assert core.group_priority == CORE_V1.group_priority


def test_keys() -> None:
    """Store objects where kube-apiserver does."""
    found = {resource.plural: resource.stored_resource for resource in RESOURCES}

    assert found["services"] == GroupResource("", "services/specs")
    assert found["deployments"] == GroupResource("", "deployments")
    assert found["apiservices"] == GroupResource("apiregistration.k8s.io", "apiservices")


def test_scale_is_of_another_group() -> None:
    """Give the bodies of scale their own kind."""
    deployments = next(resource for resource in RESOURCES if resource.plural == "deployments")
    scale = deployments.subresource("scale")

    assert scale is not None
    assert scale.kind == SCALE


def test_errors_name_go_types() -> None:
    """Report a value of a wrong type with the names of the Go types, embedded ones included."""
    pod = {"spec": {"volumes": [{"name": "v", "emptyDir": "x"}]}}
    expected = "cannot unmarshal string into Go struct field VolumeSource.spec.volumes.emptyDir of type v1.EmptyDirVolumeSource"
    with pytest.raises(DecodeError) as caught:
        Decoder(report=True).run(struct_of(POD), pod)

    assert expected.rpartition(" of ")[2] in str(caught.value)


def test_merge_keys_are_unambiguous() -> None:
    """Find one merge key for each pair of names of parent and field in a kind."""
    budget = keys_from_openapi(SCHEMAS, "io.k8s.api.policy.v1.PodDisruptionBudget")
    pod = keys_from_openapi(SCHEMAS, "io.k8s.api.core.v1.Pod")

    assert budget["spec.selector"] == REPLACE
    assert (pod["spec.containers"], pod["containers.ports"], pod["metadata.finalizers"]) == ("name", "containerPort", "")
