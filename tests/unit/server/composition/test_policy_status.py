"""The types that the status of policies is checked against."""

from __future__ import annotations

import pytest

from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
from apiext.resources.definitions.catalog import Catalog
from apiext.server.composition.admission import ServedTypes
from tests.support.builders.crds import parsed, stored_crd, version

_WIDGETS = GroupVersionResource("example.com", "v1", "widgets")
_WIDGET = GroupVersionKind("example.com", "v1", "Widget")


@pytest.fixture
def types() -> ServedTypes:
    """Return the types of a server with widgets in two versions."""
    catalog = Catalog()
    spec = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    versions = (version("v1", storage=True, schema=schema), version("v2", schema=schema))
    catalog.put(parsed(stored_crd("widgets", versions=versions)))
    return ServedTypes({}, catalog)


async def test_kinds_of_resources(types: ServedTypes) -> None:
    """A resource has one kind in each served version."""
    assert await types.kinds(_WIDGETS) == [_WIDGET]
    assert await types.kinds(_WIDGETS._replace(version="v3")) == []
    assert await types.kinds(_WIDGETS._replace(resource="gadgets")) == []


async def test_schemas_have_no_references(types: ServedTypes) -> None:
    """The schema of a custom resource has the fields of metadata."""
    schema = await types.schema(_WIDGET)

    assert schema is not None
    assert schema["properties"]["spec"]["properties"]["replicas"]["type"] == "integer"
    assert schema["properties"]["metadata"]["properties"]["labels"]["additionalProperties"] == {"type": "string"}
    assert await types.schema(_WIDGET._replace(kind="Gadget")) is None
