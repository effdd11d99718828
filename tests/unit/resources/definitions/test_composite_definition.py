"""The CRDs that Crossplane makes of XRDs. The comparison with its code is in tests/differential/definitions."""

import re
from typing import Any, Final

import pytest

from apiext.resources.definitions.composite_definition import composite_crds, composite_owner, composite_patch, ignored_parts
from tests.support.builders.composites import xrd, xrd_version

WITHOUT_SCHEMA: Final = {"name": "v1", "served": True, "referenceable": True}


def spec_fields(crd: dict[str, Any], field: str = "spec") -> list[str]:
    """Return the names of the fields in the first version."""
    properties = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    return sorted(properties[field]["properties"])


def test_makes_a_claim_of_legacy_definitions() -> None:
    """Make the CRDs of the composite resource and of the claim, each with Crossplane's fields beside those of the XRD."""
    composite, claim = composite_crds(xrd(xrd_version("v1", "a"), claim=True))

    assert [crd["metadata"]["name"] for crd in (composite, claim)] == ["xservers.example.com", "servers.example.com"]
    assert [crd["spec"]["scope"] for crd in (composite, claim)] == ["Cluster", "Namespaced"]
    assert [crd["spec"]["names"]["categories"] for crd in (composite, claim)] == [["composite"], ["claim"]]
    selection = ["compositionRef", "compositionRevisionRef", "compositionRevisionSelector", "compositionSelector"]
    selection += ["compositionUpdatePolicy"]
    assert spec_fields(composite) == ["a", "claimRef", *selection, "resourceRefs", "writeConnectionSecretToRef"]
    assert spec_fields(claim) == ["a", "compositeDeletePolicy", *selection, "resourceRef", "writeConnectionSecretToRef"]
    assert spec_fields(composite, "status") == ["claimConditionTypes", "conditions", "connectionDetails"]
    assert [composite_owner(crd["metadata"]) for crd in (composite, claim)] == ["xservers.example.com"] * 2


@pytest.mark.parametrize("scope,expected", [(None, "Namespaced"), ("Cluster", "Cluster")])
def test_modern_definitions_have_one_field(scope: str | None, expected: str) -> None:
    """Put the fields of Crossplane below spec.crossplane in v2, whose default is namespaced."""
    [crd] = composite_crds(xrd(xrd_version("v1", "a"), version="v2", scope=scope))

    assert (crd["spec"]["scope"], spec_fields(crd), spec_fields(crd, "status")) == (expected, ["a", "crossplane"], ["conditions"])


def test_the_referenceable_version_is_stored() -> None:
    """Store the version that compositions refer to."""
    [crd] = composite_crds(xrd(xrd_version("v1", "a", referenceable=False), xrd_version("v2", "a")))

    assert [(version["name"], version["storage"]) for version in crd["spec"]["versions"]] == [("v1", False), ("v2", True)]


def test_a_patch_of_the_xrd_leads_to_the_crd() -> None:
    """Return the patch that changes both CRDs as they should be, also where one lacks a field that Crossplane replaces in it."""
    before = xrd(xrd_version("v1", "a"), claim=True)
    after = xrd(xrd_version("v1", "a", referenceable=False), xrd_version("v2", "b", "claimRef", "compositeDeletePolicy"), claim=True)
    metadata = {"labels": {"tier": "gold"}, "annotations": {"team": "data"}}
    after["spec"] |= {"metadata": metadata, "defaultCompositeDeletePolicy": "Foreground", "defaultCompositionUpdatePolicy": "Manual"}
    crds = composite_crds(after)
    for ordered in (crds, crds[::-1]):
        patch = composite_patch("xservers.example.com", ordered)
        assert (patch["metadata"], patch["spec"].pop("conversion")) == ({"name": "xservers.example.com"}, None)
        assert composite_crds({**before, "spec": before["spec"] | patch["spec"]}) == crds
    assert composite_patch("xservers.example.com", crds[:1])["spec"].keys().isdisjoint({"defaultCompositeDeletePolicy", "names"})


def test_a_patch_takes_crds_of_other_makers() -> None:
    """Return the versions of a CRD without the fields and columns that Crossplane adds now."""
    [crd] = composite_crds(xrd(xrd_version("v1", "a")))
    [version] = crd["spec"]["versions"]
    del crd["spec"]["names"]["categories"], version["additionalPrinterColumns"]
    version["schema"]["openAPIV3Schema"]["properties"] = {"spec": {"type": "object"}, "metadata": {"type": "object"}}

    [given] = composite_patch("xservers.example.com", [crd])["spec"]["versions"]
    properties = given["schema"]["openAPIV3Schema"]["properties"]
    assert properties == {"spec": {"type": "object", "properties": {}}, "status": {"properties": {}}}


def test_names_what_crossplane_leaves_out() -> None:
    """Name keywords and fields of the schema that no CRD has."""
    version = xrd_version("v1", "a")
    schema = version["schema"]["openAPIV3Schema"]
    schema |= {"anyOf": [], "required": ["spec", "more"]}
    schema["properties"] |= {"more": {"type": "string"}, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    schema["properties"]["spec"]["minProperties"] = 1

    version["storage"] = True
    given = xrd(version)
    given["spec"]["names2"] = 3

    assert sorted(ignored_parts(given)) == [
        "spec.names2",
        "version v1: anyOf",
        "version v1: more",
        "version v1: required more",
        "version v1: spec.minProperties",
        "version v1: status.x-kubernetes-preserve-unknown-fields",
        "version v1: storage",
    ]
    assert not [*ignored_parts(xrd(xrd_version("v1", "a")))]


@pytest.mark.parametrize(
    "change,problem",
    [
        ({"apiVersion": "apiextensions.crossplane.io/v1beta1"}, "apiVersion is 'apiextensions.crossplane.io/v1beta1', expected"),
        ({"spec": 3}, "spec: expected an object"),
        ({"scope": {}}, 'spec.scope: Unsupported value: {}: supported values: "LegacyCluster", "Namespaced", "Cluster"'),
        (
            {"group": None, "versions": [{"name": "v1"}]},
            "spec.group: Required value; spec.versions[0].referenceable: Required value; spec.",
        ),
        (
            {"scope": "Cluster", "claimNames": {"kind": "A", "plural": "as"}},
            "spec: Invalid value: Only LegacyCluster composite resources can",
        ),
        (
            {"claimNames": {"kind": "A", "plural": "xservers"}},
            'invalid resource claim names: "xservers" conflicts with composite resource name',
        ),
        ({"versions": {}}, "spec.versions: expected a list"),
        ({"versions": ["v1"]}, "spec.versions[0]: expected an object"),
        ({"versions": [WITHOUT_SCHEMA]}, "version v1: custom resource validation cannot be nil"),
        ({"versions": [{**WITHOUT_SCHEMA, "schema": {}}]}, "version v1: cannot parse validation schema"),
    ],
)
def test_refuses_what_crossplane_refuses(change: dict[str, Any], problem: str) -> None:
    """Raise an error with the reason."""
    found = xrd(xrd_version("v1", "a"))
    found = found | change if {"apiVersion", "spec"} & change.keys() else found | {"spec": found["spec"] | change}

    with pytest.raises(ValueError, match=f"^{re.escape(problem)}"):
        composite_crds(found)
