"""Deletions: of objects, of collections and of definitions, with the reference's answers."""

from typing import Final

import pytest

from tests.differential.cases.deletion_steps import GROUP, NOTES, SEQUENCES, crd, note
from tests.differential.helpers.pair import Pair, Step
from tests.differential.helpers.watching import differences

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ONE: Final = f"{CRDS}/notes.{GROUP}"
WINDOW: Final = 8
"""Seconds in which a definition is gone: the reference looks for its objects every five."""


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(pair: Pair, name: str) -> None:
    """Every answer of the sequence has the reference's code, headers and body."""
    with pair.served(crd("notes", "Note"), crd("stones", "Stone", "Cluster")):
        found = [difference for step in SEQUENCES[name] for difference in pair.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


def _definition_life() -> list[Step]:
    """A definition is deleted while its objects are held, is changed meanwhile, goes with them, and comes again."""
    held = f"{NOTES}/held"
    put = note("held", "example.com/x", a="q")
    put["metadata"]["resourceVersion"] = f"{{rv:{held}}}"
    return [
        Step("DELETE", ONE),
        Step("GET", ONE, settles=True, until="InstanceDeletionInProgress"),
        Step("GET", NOTES, settles=True, until="deletionTimestamp"),
        Step("GET", f"{NOTES}/free", settles=True, until="NotFound"),
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
    """The end of a definition, as its objects, its conditions and those who watch either see it."""
    watches = [
        Step("GET", f"{NOTES}?watch=true&timeoutSeconds=60"),
        Step("GET", f"{CRDS}?watch=true&timeoutSeconds={WINDOW}&fieldSelector=metadata.name%3Dnotes.{GROUP}"),
    ]
    after = [
        Step("GET", ONE, settles=True, until="NotFound"),
        Step("GET", NOTES),
        Step("GET", f"/apis/{GROUP}/v1"),
        Step("POST", CRDS, crd("notes", "Note")),
        Step("GET", ONE, settles=True, until='"Established"'),
        Step("GET", NOTES, settles=True, until='"items": []'),
    ]
    with pair.served(crd("notes", "Note")):
        found = [line for step in (note("free"), note("held", "example.com/x")) for line in pair.differences(Step("POST", NOTES, step))]
        found += differences(pair, watches, _definition_life())
        found += [line for step in after for line in pair.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)
