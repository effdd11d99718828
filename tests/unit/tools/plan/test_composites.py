"""Plans of XRDs, which Crossplane makes CRDs of."""

import asyncio
import json
import re
import subprocess
from dataclasses import replace
from typing import Any, Final

from apiext.tools.plan.document import document_of
from apiext.tools.plan.plan import Safety, StepKind
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


def test_different_steps_are_for_people() -> None:
    """Stop a script whose CRDs need different steps."""
    plan = plan_of(OLD, NEW)
    one, other = plan.definitions
    plan = replace(plan, definitions=(one, replace(other, steps=other.steps[1:])))

    assert "need different steps: take them by hand" in script_of(plan).text


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
