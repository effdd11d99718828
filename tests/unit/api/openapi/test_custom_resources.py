"""The OpenAPI definitions of a CRD."""

from typing import Any

import pytest

from apiext.api.openapi.custom_resources import definitions
from apiext.api.openapi.v3_document import build
from tests.support.builders.crds import definition, stored_crd


@pytest.mark.parametrize("spec", [{"type": "thing"}, {"id": "x"}, {"type": "string", "pattern": "("}])
def test_omits_an_invalid_schema(spec: dict[str, Any]) -> None:
    """Publish no schema for one that is not structural, as an old server may have admitted it."""
    schema = {"type": "object", "properties": {"spec": spec}}
    known = definition(stored_crd(versions=[{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]))
    published = definitions(known, known.versions[0], v2=False)
    kind = next(schema for name, schema in published.items() if not name.endswith("List"))

    assert kind.keys() == {"type", "x-kubernetes-group-version-kind"}
    schemas = build({}, published, ())["components"]["schemas"]
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in schemas
