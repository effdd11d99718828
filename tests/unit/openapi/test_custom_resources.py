"""What is published of a definition's schema."""

from typing import Any

import pytest

from apiext.openapi.custom_resources import definitions
from apiext.openapi.v3_document import build
from tests.support.builders.crds import crd, definition


@pytest.mark.parametrize("spec", [{"type": "thing"}, {"id": "x"}, {"type": "string", "pattern": "("}])
def test_an_unsound_schema_is_not_published(spec: dict[str, Any]) -> None:
    """A schema that an older server let in says nothing of its kind, and is not looked at for what else the document holds."""
    schema = {"type": "object", "properties": {"spec": spec}}
    known = definition(crd(versions=[{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]))
    published = definitions(known, known.versions[0], v2=False)
    kind = next(schema for name, schema in published.items() if not name.endswith("List"))

    assert kind.keys() == {"type", "x-kubernetes-group-version-kind"}
    schemas = build((), published, ())["components"]["schemas"]
    assert "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" in schemas
