"""Plans of XRDs, which Crossplane makes CRDs of."""

import asyncio
import json
import re
import subprocess
from copy import deepcopy
from dataclasses import replace
from typing import Any, Final

import pytest

from apiext.resources.definitions.composite_definition import composite_crds
from apiext.tools.plan.document import document_of
from apiext.tools.plan.plan import Safety, State, StepKind
from apiext.tools.plan.script import script_of
from apiext.tools.releases.crd_files import release_of_files
from apiext.tools.releases.interface import Release
from apiext.tools.releases.manifests import ManifestFile
from tests.support.builders.composites import xrd, xrd_version
from tests.support.builders.plans import plan_of

NAMES: Final = ["servers.example.com", "xservers.example.com"]
PATCH: Final = (
    "kubectl patch compositeresourcedefinitions.v1.apiextensions.crossplane.io xservers.example.com --type=merge --patch-file FILE"
)


def released(*definitions: dict[str, Any]) -> Release:
    """Return the release of XRDs in a file."""
    files = [ManifestFile(f"{number}.json", json.dumps(one).encode()) for number, one in enumerate(definitions)]
    return asyncio.run(release_of_files("here", files))


OLD: Final = released(xrd(xrd_version("v1", "a"), claim=True))
NEW: Final = released(xrd(xrd_version("v2", "a"), claim=True))


def test_steps_change_the_xrd() -> None:
    """Patch the XRD where a CRD changes, and say so; keep what the CRDs become for replays."""
    plan = plan_of(OLD, NEW)

    assert plan.notes[0] == "Crossplane makes servers.example.com and xservers.example.com of the XRD xservers.example.com: change the XRD"
    assert [one.name for one in plan.definitions] == NAMES
    for one in plan.definitions:
        changes = [step for step in one.steps if step.owner]
        assert [step.kind for step in changes] == [StepKind.ADD, StepKind.STORAGE, StepKind.DEPRECATE, StepKind.STOP, StepKind.APPLY]
        for step in changes:
            assert step.commands == (PATCH,)
            assert step.manifest is not None
            assert step.manifest["kind"] == "CustomResourceDefinition"
            assert step.written is not None
            assert (step.written["kind"], step.written["metadata"]) == ("CompositeResourceDefinition", {"name": "xservers.example.com"})
            versions = [version["name"] for version in step.written["spec"]["versions"]]
            assert versions == [version["name"] for version in step.manifest["spec"]["versions"]]
        written = [step["manifest"]["kind"] for step in document_of(plan)["definitions"][0]["steps"] if step["manifest"]]
        assert written.count("CompositeResourceDefinition") == len(changes)


def test_the_script_takes_each_step_for_all_crds() -> None:
    """Take a step of both CRDs before the next one: a version that one of them still stores cannot go."""
    script = script_of(plan_of(OLD, NEW)).text
    taken = re.findall(r"^  echo '(\S+): (\d+)\.", script, re.MULTILINE)

    assert [name for name, _ in taken] == NAMES * (len(taken) // 2)
    assert [number for _, number in taken] == sorted(number for _, number in taken)
    assert "  patch_xrd xservers.example.com <<" in script
    assert "apply_crd servers" not in script
    subprocess.run(["sh", "-n"], input=script, text=True, check=True)


def test_the_script_takes_steps_of_one_crd_in_their_order() -> None:
    """Store the objects of the only CRD that needs it before the change of both; each change patches the XRD once."""
    plan = plan_of(OLD, NEW)
    one, other = plan.definitions
    kept = tuple(step for step in other.steps if step.owner)
    assert len(kept) < len(other.steps)
    script = script_of(replace(plan, definitions=(one, replace(other, steps=kept)))).text
    taken = re.findall(r"^  echo '(\S+): \d+\. (\w+ \w+)", script, re.MULTILINE)

    assert script.count("  patch_xrd xservers.example.com <<") == len(kept)
    assert [name for name, title in taken] == [name for step in one.steps for name in (NAMES if step.owner else NAMES[:1])]
    assert [title for name, title in taken if name == NAMES[0]] == [" ".join(step.title.split()[:2]) for step in one.steps]


def test_a_patch_has_what_only_the_other_crd_shows() -> None:
    """Keep the fields of the XRD that Crossplane replaces in one of its CRDs, in each step, also where the other CRD has none."""
    before = xrd(xrd_version("v1", "a", "claimRef", "compositeDeletePolicy"), claim=True)
    after = deepcopy(before)
    fields = after["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["claimRef"] = {"type": "string", "description": "changed"}
    plan = plan_of(released(before), released(after))

    assert [one.state for one in plan.definitions] == [State.CHANGED, State.UNCHANGED]
    [step] = plan.definitions[0].steps
    assert step.written is not None
    patched = after["spec"] | {"versions": step.written["spec"]["versions"]}
    assert composite_crds({**after, "spec": patched}) == composite_crds(after)


@pytest.mark.parametrize(
    "change,problem",
    [
        ({"names": {"kind": "XServer", "plural": "xservers", "shortNames": ["xs"]}}, "refuses the XRD xservers.example.com: spec.names: "),
        ({"scope": "Cluster"}, 'refuses the XRD xservers.example.com: spec.scope: Invalid value: "Cluster"'),
    ],
)
def test_what_an_xrd_cannot_change_breaks(change: dict[str, Any], problem: str) -> None:
    """Break, without steps, where the API server refuses the XRD."""
    old = xrd(xrd_version("v1", "a"))
    plan = plan_of(released(old), released({**old, "spec": old["spec"] | change}))

    assert [(one.verdict, one.steps) for one in plan.definitions] == [(Safety.BREAKING, ())]
    assert problem in plan.definitions[0].breaks[0]


def test_an_xrd_leaves_its_crds_to_no_other() -> None:
    """Break where another XRD has the same claim, although its CRD is the same, and where a CRD replaces an XRD."""
    other = xrd(xrd_version("v1", "a"), claim=True)
    other["metadata"]["name"], other["spec"]["names"] = "yservers.example.com", {"kind": "YServer", "plural": "yservers"}
    old = released(xrd(xrd_version("v1", "a"), claim=True))
    plain = old.definitions["servers.example.com"].object
    del plain["metadata"]["ownerReferences"]

    for new in (released(other), released(plain)):
        [claim] = [one for one in plan_of(old, new).definitions if one.name == "servers.example.com"]
        assert claim.breaks == (
            "the CRD is of the XRD xservers.example.com: Crossplane takes back what others change, and deletes it with the XRD",
        )


def test_an_xrd_takes_over_a_crd() -> None:
    """Let a person apply the XRD, which does not exist before; on the way back the CRD stays Crossplane's."""
    new = released(xrd(xrd_version("v1", "b")))
    plain = released(xrd(xrd_version("v1", "a"))).definitions["xservers.example.com"].object
    del plain["metadata"]["ownerReferences"]
    plan = plan_of(released(plain), new)
    [step] = plan.definitions[0].steps

    assert step.title == "Apply the XRD xservers.example.com, which takes over xservers.example.com"
    assert (step.commands, step.written) == ((), None)
    assert "do this here" in script_of(plan).text
    assert plan.definitions[0].way_back is not None
    assert "Crossplane takes back" in plan.definitions[0].way_back.breaks[0]


def test_a_new_xrd_is_created_by_a_person() -> None:
    """Wait for the CRDs of a new XRD, whose manifest only its author has."""
    plan = plan_of(released(), NEW)
    script = script_of(plan).text

    assert plan.verdict is Safety.SAFE
    assert [(step.commands, step.written) for one in plan.definitions for step in one.steps] == [((), None)] * 2
    assert "create -f" not in script.rpartition("# ---")[2]
    assert "kubectl wait --for=condition=Established --timeout=60s crd/servers.example.com" in script


def test_a_lost_xrd_is_deleted() -> None:
    """Delete the XRD, not its CRDs."""
    plan = plan_of(OLD, released(), removes=True)

    commands = [command for one in plan.definitions for step in one.steps for command in step.commands]
    assert commands == ["kubectl delete compositeresourcedefinitions.v1.apiextensions.crossplane.io xservers.example.com"] * 2
