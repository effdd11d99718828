"""What is there and empty in a definition matters to validation alone."""

from typing import Any

import pytest

from apiext.definitions.codec import CRDCodec
from apiext.definitions.compact import compact
from apiext.definitions.validation.definition import validate_create
from apiext.meta import json_codec


def crd(schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    """A definition as the codec reads it from a request."""
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    one = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"} | schema}} | version
    obj = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster", "names": names, "versions": [one]},
        "status": {"storedVersions": ["v1"]},
    }
    CRDCodec().decode_body(obj, report=False)
    return obj


def messages(obj: dict[str, Any]) -> list[str]:
    """What validation finds."""
    return [f"{error.field}: {error.detail}" for error in validate_create(obj)]


def test_empty_dependencies_are_refused_anywhere() -> None:
    """Dependencies are not supported, not even none."""
    path = "spec.validation.openAPIV3Schema.properties[a].dependencies"

    assert messages(crd({"properties": {"a": {"type": "object", "dependencies": {}}}})) == [f"{path}: dependencies is not supported"]


@pytest.mark.parametrize("key", ["enum", "allOf", "anyOf", "oneOf"])
def test_an_empty_list_counts_at_the_root_beside_a_status(key: str) -> None:
    """Of the root of a schema, a status subresource allows some fields only, and none of the others even if it is empty."""
    found = messages(crd({key: []}, subresources={"status": {}}))

    assert len(found) == 1
    assert found[0].startswith("spec.validation.openAPIV3Schema: only [Description Type")


def test_metadata_with_anything_is_refused() -> None:
    """A restriction of metadata that is empty or false is one."""
    restrictions: tuple[dict[str, Any], ...] = ({"required": []}, {"additionalProperties": False})
    for restriction in restrictions:
        [found] = messages(crd({"properties": {"metadata": {"type": "object"} | restriction}}))

        assert "metadata is implicitly specified" in found


def test_nothing_empty_is_kept() -> None:
    """All that validation alone looks at is taken out, at any depth; defaults and examples stay as they are."""
    inner = {"type": "object", "default": {"enum": []}, "required": [], "anyOf": [{"enum": []}], "properties": {}}
    obj = crd({"properties": {"a": inner}, "allOf": []}, additionalPrinterColumns=[], selectableFields=[])
    [version] = compact(obj["spec"])["versions"]

    assert version == {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"a": {"type": "object", "default": {"enum": []}, "anyOf": [{}]}},
            }
        },
    }
    assert json_codec.loads(CRDCodec().encode(obj | {"spec": compact(obj["spec"])}))["spec"]["validation"]
