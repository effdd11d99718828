"""Tests of the deletion of objects, collections and definitions."""

from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases.deletion_steps import GROUP, NOTES, SEQUENCES, crd, note
from tests.differential.helpers.differences import assert_none, compared
from tests.differential.helpers.watching import differences

pytestmark = pytest.mark.slow

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ONE: Final = f"{CRDS}/notes.{GROUP}"
WINDOW: Final = 8
"""Seconds until a definition is deleted: the reference checks for its objects every five seconds."""


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(pair: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    with pair.served(crd("notes", "Note"), crd("stones", "Stone", "Cluster")):
        compared(pair, SEQUENCES[name])


def _definition_life() -> list[Step]:
    """Return steps that delete a definition with finalized objects, change it meanwhile, and create it again."""
    held = f"{NOTES}/held"
    put = note("held", "example.com/x", a="q")
    put["metadata"]["resourceVersion"] = f"{{rv:{held}}}"
    return [
        Step("DELETE", ONE),
        Step("GET", ONE, retry=True, until="InstanceDeletionInProgress"),
        Step("GET", NOTES, retry=True, until="deletionTimestamp"),
        Step("GET", f"{NOTES}/free", retry=True, until="NotFound"),
        Step("POST", NOTES, note("new")),
        Step("POST", f"{NOTES}?dryRun=All", note("new")),
        Step("PUT", held, put),
        Step("PATCH", held, {"spec": {"a": "z"}}),
        Step("POST", CRDS, crd("notes", "Note")),
        Step("GET", f"/apis/{GROUP}/v1"),
        Step("DELETE", ONE),
        Step("DELETE", held),
        Step("PATCH", ONE, {"metadata": {"labels": {"a": "b"}}}),
        Step("PATCH", ONE, {"metadata": {"finalizers": ["example.com/mine", "customresourcecleanup.apiextensions.k8s.io"]}}),
        Step("PATCH", held, {"metadata": {"finalizers": None}}),
    ]


def test_definition(pair: Pair) -> None:
    """Delete a definition with equal objects, conditions and watch events."""
    watches = [
        Step("GET", f"{NOTES}?watch=true&timeoutSeconds=60"),
        Step("GET", f"{CRDS}?watch=true&timeoutSeconds={WINDOW}&fieldSelector=metadata.name%3Dnotes.{GROUP}"),
    ]
    after = [
        Step("GET", ONE, retry=True, until="NotFound"),
        Step("GET", NOTES),
        Step("GET", f"/apis/{GROUP}/v1"),
        Step("POST", CRDS, crd("notes", "Note")),
        Step("GET", ONE, retry=True, until='"Established"'),
        Step("GET", NOTES, retry=True, until='"items": []'),
    ]
    with pair.served(crd("notes", "Note")):
        found = [line for step in (note("free"), note("held", "example.com/x")) for line in pair.differences(Step("POST", NOTES, step))]
        found += differences(pair, watches, _definition_life())
        found += [line for step in after for line in pair.differences(step)]

    assert_none(found)
