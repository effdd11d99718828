"""The CRDs of XRDs, compared with those that the code of Crossplane makes."""

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from apiext.resources.definitions.composite_definition import (
    composite_crds,
    composite_owner,
    composite_patch,
    crd_names,
    is_composite_definition,
)
from apiext.resources.evaluation.definition_creation import complete_draft
from hack.lib import crossplane

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first run compiles the program

Json = dict[str, Any]
CASES: Final = Path(__file__).parents[1] / "cases" / "composite_definitions.yaml"


def stored(xrd: Json, crd_of_xrds: Json) -> Json:
    """Return an XRD as the API server stores it: with the defaults of its CRD."""
    version = next(one for one in crd_of_xrds["spec"]["versions"] if xrd["apiVersion"].endswith(f"/{one['name']}"))
    properties = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    defaults = {name: schema["default"] for name, schema in properties.items() if "default" in schema}
    return {**xrd, "spec": defaults | xrd["spec"]}


def theirs(xrds: list[Json]) -> list[Json]:
    """Return the answers of Crossplane's code."""
    given = "\n".join(map(json.dumps, xrds))
    done = subprocess.run([crossplane.program()], input=given, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(xrd: Json) -> Json:
    """Return our answer in the form of that program."""
    try:
        return {"crds": composite_crds(xrd), "error": ""}
    except ValueError as error:
        return {"crds": None, "error": str(error)}


def normal(crd: Json) -> Json:
    """Return a CRD in canonical form, without what a server gives."""
    found: Json = json.loads(json.dumps({**crd, "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}))
    found.pop("status", None)
    assert not complete_draft(found)
    for owner in found["metadata"]["ownerReferences"]:
        owner["uid"] = ""
    return found


def test_makes_the_crds_of_crossplane() -> None:
    """Make the same CRDs of XRDs, or fail for the same reason; a patch of the XRD towards one of them leads to it."""
    crd_of_xrds = crossplane.crd_of_xrds()
    documents = [obj for path in (CASES, *crossplane.xrd_files()) for obj in yaml.safe_load_all(path.read_text()) if obj]
    xrds = [obj for obj in documents if is_composite_definition(obj)]
    assert len(xrds) > 20

    for xrd, expected in zip(xrds, theirs([stored(xrd, crd_of_xrds) for xrd in xrds]), strict=True):
        found, name = ours(xrd), xrd["metadata"]["name"]
        crds = [normal(crd) for crd in found["crds"] or ()]
        assert crds == [normal(crd) for crd in expected["crds"] or ()], name
        assert expected["error"].endswith(found["error"].rpartition(": ")[2]), name
        assert bool(found["error"]) == bool(expected["error"])
        for index, crd in enumerate(crds):
            assert composite_owner(crd["metadata"]) == name
            assert crd["metadata"]["name"] in crd_names(xrd)
            versions = composite_patch(name, crd["spec"])["spec"]["versions"]
            patched = composite_crds({**xrd, "spec": xrd["spec"] | {"versions": versions}})
            assert normal(patched[index]) == crd
