"""Names and conditions of definitions that share a group."""

from typing import Any

import pytest

from apiext.definitions.definition import Definition
from apiext.definitions.naming import Taken, accept_names, taken_names
from apiext.definitions.reconcile import reconciled
from tests.unit.definitions.recorded import body, decoded, records


def _without_times(status: dict[str, Any]) -> dict[str, Any]:
    conditions = [{key: item for key, item in condition.items() if key != "lastTransitionTime"} for condition in status["conditions"]]
    return status | {"conditions": sorted(conditions, key=lambda condition: condition["type"])}


def test_names_and_conditions_are_those_of_the_reference() -> None:
    """Definitions created one after the other get the names and conditions that kube-apiserver gives them."""
    known: dict[str, Definition] = {}
    for record in records("naming"):
        crd = decoded(record["body"])
        name, group = crd["metadata"]["name"], crd["spec"]["group"]
        known[name] = Definition.from_object(crd, revision=1)

        after = reconciled(crd, taken_names(known.values(), group))
        known[name] = Definition.from_object(after, revision=2)

        assert record["status"] == _without_times(after["status"])


def test_nothing_is_done_twice() -> None:
    """A definition whose status is up to date is given back as it is."""
    crd = decoded(body())
    after = reconciled(crd, Taken())

    assert after is not crd
    assert after is reconciled(after, taken_names([Definition.from_object(after, revision=1)], "example.com"))


def test_the_given_definition_is_not_changed() -> None:
    """Reconciling makes a new status and leaves the old one alone."""
    crd = decoded(body())
    before = decoded(body())

    reconciled(crd, Taken())

    assert before == crd


@pytest.mark.parametrize(
    "wanted,has,taken,reason,message",
    [
        ({"plural": "a", "kind": "A"}, {"plural": "", "kind": ""}, Taken({"a"}), "PluralConflict", '"a" is already in use'),
        ({"plural": "a", "kind": "A"}, {"plural": "", "kind": ""}, Taken(set(), {"A"}), "KindConflict", '"A" is already in use'),
        ({"plural": "a", "kind": "A"}, {"plural": "a", "kind": "A"}, Taken({"a"}, {"A"}), "NoConflicts", "no conflicts found"),
        (
            {"plural": "a", "kind": "A", "shortNames": ["x", "y", "z"]},
            {"plural": "a", "kind": "A", "shortNames": ["z"]},
            Taken({"x", "y", "z"}),
            "ShortNamesConflict",
            '["x" is already in use, "y" is already in use]',
        ),
        (
            {"plural": "a", "kind": "A", "singular": "s", "listKind": "L"},
            {"plural": "a", "kind": "A", "singular": "", "listKind": ""},
            Taken({"s"}, {"L"}),
            "ListKindConflict",
            '"L" is already in use',
        ),
    ],
)
def test_conflicts(wanted: dict[str, Any], has: dict[str, Any], taken: Taken, reason: str, message: str) -> None:
    """A name that another definition has is refused, one's own is not, and the last conflict is told."""
    crd = {"spec": {"names": wanted}, "status": {"acceptedNames": has}}

    _, condition = accept_names(crd, taken)

    assert (reason, message) == (condition.reason, condition.message)


def test_names_without_a_conflict_are_accepted_beside_one() -> None:
    """A conflict of one name keeps the others from nothing: each is accepted that can be."""
    wanted = {"plural": "a", "singular": "b", "kind": "A", "listKind": "AList", "categories": ["all"]}
    crd = {"spec": {"names": wanted}, "status": {"acceptedNames": {"plural": "", "kind": ""}}}

    accepted, _ = accept_names(crd, Taken({"b"}))

    assert accepted == {"plural": "a", "kind": "A", "listKind": "AList", "categories": ["all"]}


def test_an_unreadable_ca_bundle_keeps_a_definition_from_being_established() -> None:
    """Names are accepted, but nothing is served while the webhook's certificates cannot be read."""
    client = {"url": "https://example.com", "caBundle": "eHg="}
    crd = decoded(body(conversion={"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}))

    after = reconciled(crd, Taken())

    conditions = {condition["type"]: (condition["status"], condition["reason"]) for condition in after["status"]["conditions"]}
    assert conditions == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("False", "InvalidCABundle")}


def test_a_definition_that_preserves_unknown_fields_is_marked_as_non_structural() -> None:
    """Definitions of old keep working and say in a condition what is wrong with them; it goes when that is mended."""
    crd = decoded(body(preserveUnknownFields=True))
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"properties": {"a": {}}}

    after = reconciled(crd, Taken())
    mended = reconciled(after | {"spec": decoded(body())["spec"]}, taken_names([Definition.from_object(after, revision=1)], "example.com"))

    condition = next(condition for condition in after["status"]["conditions"] if condition["type"] == "NonStructuralSchema")
    assert (condition["status"], condition["reason"]) == ("True", "Violations")
    assert condition["message"].startswith("[spec.preserveUnknownFields: Invalid value: true: must be false, ")
    assert "NonStructuralSchema" not in {condition["type"] for condition in mended["status"]["conditions"]}


def test_what_an_older_server_found_not_structural_stays_marked_until_it_is_mended() -> None:
    """A definition that is pruned and was let in with an unsound schema keeps its condition, which goes with the mistake."""
    crd = decoded(body())
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}
    condition = {"type": "NonStructuralSchema", "status": "True", "reason": "Violations", "message": "long ago"}
    crd["status"]["conditions"] = [condition]

    after = reconciled(crd, Taken())
    mended = reconciled(after | {"spec": decoded(body())["spec"]}, Taken())

    found = next(one for one in after["status"]["conditions"] if one["type"] == "NonStructuralSchema")
    assert "must be a valid regular expression" in found["message"]
    assert "NonStructuralSchema" not in {one["type"] for one in mended["status"]["conditions"]}
