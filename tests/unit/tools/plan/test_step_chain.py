"""Steps on a copy of a definition."""

import pytest

from apiext.resources.evaluation.definition_creation import DefinitionRefusedError
from apiext.tools.plan import stages
from apiext.tools.plan.plan import Need, StepKind
from apiext.tools.plan.step_chain import StepChain, manifest_of, state_check
from tests.support.builders.plans import WEBHOOK, created, shaped

BOTH = created(shaped("v1", "a", storage=True), shaped("v2", "a"))


def test_follows_the_server() -> None:
    """Add a new storage version to storedVersions, as the server does."""
    chain = StepChain(BOTH)
    chain.respec(StepKind.STORAGE, stages.with_storage(chain.spec, "v2"), "Make v2 the storage version", "")
    chain.migrate("", need=Need.LATER)
    chain.prune(["v2"], "")

    assert [step.stored_versions for step in chain.steps] == [("v1", "v2"), ("v1", "v2"), ("v2",)]
    assert chain.steps[0].check == state_check("widgets.example.com", "v1=true/false v2=true/true None")
    assert chain.steps[1].manifest is not None
    assert chain.steps[1].manifest["spec"] == {"resource": {"group": "example.com", "resource": "widgets"}}
    assert chain.current is not None
    assert chain.current.storage_version.name == "v2"


def test_refuses_as_the_server() -> None:
    """Raise for a step that the server refuses."""
    chain = StepChain(BOTH)

    with pytest.raises(DefinitionRefusedError, match="must have exactly one version marked as storage version"):
        chain.respec(StepKind.STORAGE, chain.spec | {"versions": [one | {"storage": False} for one in chain.spec["versions"]]}, "", "")
    with pytest.raises(DefinitionRefusedError):
        StepChain(None).update(StepKind.APPLY, BOTH.object, "", "")


def test_nothing_exists() -> None:
    """Take no steps on a definition that does not exist."""
    chain = StepChain(None)
    chain.migrate("")
    chain.prune([], "")
    chain.forget_managers("v1")

    assert (chain.steps, chain.stored, stages.names_of(chain.spec)) == ([], [], [])


def test_cluster_scoped_objects() -> None:
    """Name objects without a namespace."""
    chain = StepChain(created(shaped("v1", "a", storage=True), scope="Cluster"))
    chain.migrate("")
    chain.forget_managers("v0")

    assert chain.steps[0].commands == ("kubectl get widgets.v1.example.com -o json | kubectl replace -f -",)
    assert " -A" not in chain.steps[1].check


def test_manifests() -> None:
    """Set members to null that only the definition before has, and leave out what the server and kubectl write."""
    old = created(shaped("v1", "a"), shaped("v2", "b", storage=True), conversion=WEBHOOK)
    new = created(shaped("v2", "b", storage=True)).object
    new["metadata"] |= {"labels": {"x": "y"}, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "a": "b"}}
    manifest = manifest_of(new, old)

    assert manifest["metadata"] == {"name": "widgets.example.com", "labels": {"x": "y"}, "annotations": {"a": "b"}}
    assert manifest["spec"]["conversion"] == {"strategy": "None", "webhook": None}
    assert "status" not in manifest
    assert manifest_of(new, None)["spec"]["conversion"] == {"strategy": "None"}
