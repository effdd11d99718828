"""The CRDs of XRDs, compared with those that the code of Crossplane makes."""

import json
import subprocess
from collections.abc import Iterator
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
    refused_changes,
)
from apiext.resources.definitions.composite_validation import FIELDS, VERSION_FIELDS
from apiext.resources.evaluation.definition_creation import complete_draft
from hack.lib import crossplane
from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.support.builders.composites import xrd, xrd_version

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first run compiles the program

Json = dict[str, Any]
XRDS: Final = "/apis/apiextensions.crossplane.io/v1/compositeresourcedefinitions"
CASES: Final = Path(__file__).parents[1] / "cases" / "composite_definitions.yaml"
WRONG: Final = CASES.parent / "wrong_composite_definitions.yaml"


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

    for given, expected in zip(xrds, theirs([stored(one, crd_of_xrds) for one in xrds]), strict=True):
        found, name = ours(given), given["metadata"]["name"]
        crds = [normal(crd) for crd in found["crds"] or ()]
        assert crds == [normal(crd) for crd in expected["crds"] or ()], name
        assert expected["error"].endswith(found["error"].rpartition(": ")[2]), name
        assert bool(found["error"]) == bool(expected["error"])
        for crd in crds:
            assert composite_owner(crd["metadata"]) == name
            assert crd["metadata"]["name"] in crd_names(given)
        for crd in crds:
            patch = composite_patch(name, [crd, *(one for one in crds if one is not crd)])["spec"]
            spec = {field: value for field, value in (given["spec"] | patch).items() if value is not None}
            assert [normal(one) for one in composite_crds({**given, "spec": spec})] == crds


def test_knows_the_fields_of_crossplane() -> None:
    """Know all fields of XRDs, in both versions."""
    for version in crossplane.crd_of_xrds()["spec"]["versions"]:
        fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        assert sorted(fields) == list(FIELDS)
        assert sorted(fields["versions"]["items"]["properties"]) == list(VERSION_FIELDS)


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Serve XRDs on both servers."""
    with pair.served(crossplane.crd_of_xrds()):
        yield pair


def _names(**changes: Any) -> Json:
    return {"names": {"kind": "XServer", "plural": "xservers"} | changes}


@pytest.mark.parametrize(
    "change,refused",
    [
        (_names(shortNames=["xs"]), ["spec.names"]),
        (_names(categories=["all"]), ["spec.names"]),
        (_names(kind="XHost"), ["spec.names"]),
        ({"claimNames": {"kind": "Server", "plural": "servers", "shortNames": ["s"]}}, ["spec.claimNames"]),
        ({"claimNames": None}, []),
        ({"claimNames": None, "scope": "Cluster"}, ["spec.scope"]),
        ({"claimNames": None, "scope": "Namespaced"}, ["spec.scope"]),
        ({"defaultCompositeDeletePolicy": "Foreground"}, []),
        ({"versions": [xrd_version("v1", "b")]}, []),
    ],
)
def test_foretells_which_changes_are_refused(served: Pair, change: Json, refused: list[str]) -> None:
    """Name the fields of an XRD that kube-apiserver does not let change, as its CRDs show them."""
    old = xrd(xrd_version("v1", "a"), claim=True)
    new = {**old, "spec": {name: value for name, value in (old["spec"] | change).items() if value is not None}}
    path = f"{XRDS}/{old['metadata']['name']}"
    compared(served, [Step("POST", XRDS, old)])
    try:
        update = Step("PUT", path, {**new, "metadata": new["metadata"] | {"resourceVersion": f"{{rv:{path}}}"}})
        answer = served.reference.ask(update)
        causes = [(cause["field"], cause["message"]) for cause in answer.body.get("details", {}).get("causes", ())]
        assert (answer.code, [field for field, _ in causes]) == ((422, refused) if refused else (200, []))
        assert answer.code == served.ours.ask(update).code
    finally:
        compared(served, [Step("DELETE", path)])
    before, after = ({crd["metadata"]["name"]: normal(crd) for crd in composite_crds(one)} for one in (old, new))
    ours = [problem for name in before if name in after for problem in refused_changes(before[name], after[name])]
    assert [problem.partition(": ")[2] for problem in ours] == [": ".join(cause) for cause in causes]


def test_refuses_what_the_reference_refuses(served: Pair) -> None:
    """Refuse XRDs for the reasons of kube-apiserver, which checks the rules of the CRD of XRDs where its schema is kept."""
    for version, changes in yaml.safe_load(WRONG.read_text()).items():
        for change in changes:
            given = xrd(xrd_version("v1", "a"), claim=True, version=version)
            given["spec"] = {name: value for name, value in (given["spec"] | change).items() if value is not None}
            answer = served.reference.ask(Step("POST", f"{XRDS.replace('/v1/', f'/{version}/')}?dryRun=All", given))
            causes = [(cause["field"], cause["message"]) for cause in answer.body.get("details", {}).get("causes", ())]
            reasons = [f"{field}: {message}" for field, message in causes if "some validation rules were not checked" not in message]
            assert ours(given)["error"] == "; ".join(reasons), change
