"""Names and conditions of definitions in one group."""

from typing import Any

import pytest

from apiext.resources.definitions.controllers.naming import AcceptedNames, accept_names, accepted_names
from apiext.resources.definitions.controllers.reconcile import reconcile_status
from apiext.resources.definitions.definition import Definition
from tests.support.builders.crds import parsed
from tests.unit.resources.definitions.recorded import body, decoded, records


def _without_times(status: dict[str, Any]) -> dict[str, Any]:
    conditions = [{key: item for key, item in condition.items() if key != "lastTransitionTime"} for condition in status["conditions"]]
    return status | {"conditions": sorted(conditions, key=lambda condition: condition["type"])}


def test_names_and_conditions_equal_the_reference() -> None:
    """Give definitions created one after the other the same names and conditions as kube-apiserver."""
    known: dict[str, Definition] = {}
    for record in records("naming"):
        crd = decoded(record["body"])
        name, group = crd["metadata"]["name"], crd["spec"]["group"]
        known[name] = parsed(crd)

        after = reconcile_status(crd, accepted_names(known.values(), group))
        known[name] = parsed(after, revision=2)

        assert record["status"] == _without_times(after["status"])


def test_returns_a_reconciled_definition_unchanged() -> None:
    """Return a definition with a current status as it is."""
    crd = decoded(body())
    after = reconcile_status(crd, AcceptedNames())

    assert after is not crd
    assert after is reconcile_status(after, accepted_names([parsed(after)], "example.com"))


def test_does_not_change_the_given_definition() -> None:
    """Create a new status, and leave the given one unchanged."""
    crd = decoded(body())
    before = decoded(body())

    reconcile_status(crd, AcceptedNames())

    assert before == crd


@pytest.mark.parametrize(
    "wanted,has,taken,reason,message",
    [
        ({"plural": "a", "kind": "A"}, {"plural": "", "kind": ""}, AcceptedNames({"a"}), "PluralConflict", '"a" is already in use'),
        ({"plural": "a", "kind": "A"}, {"plural": "", "kind": ""}, AcceptedNames(set(), {"A"}), "KindConflict", '"A" is already in use'),
        ({"plural": "a", "kind": "A"}, {"plural": "a", "kind": "A"}, AcceptedNames({"a"}, {"A"}), "NoConflicts", "no conflicts found"),
        (
            {"plural": "a", "kind": "A", "shortNames": ["x", "y", "z"]},
            {"plural": "a", "kind": "A", "shortNames": ["z"]},
            AcceptedNames({"x", "y", "z"}),
            "ShortNamesConflict",
            '["x" is already in use, "y" is already in use]',
        ),
        (
            {"plural": "a", "kind": "A", "singular": "s", "listKind": "L"},
            {"plural": "a", "kind": "A", "singular": "", "listKind": ""},
            AcceptedNames({"s"}, {"L"}),
            "ListKindConflict",
            '"L" is already in use',
        ),
    ],
)
def test_reports_conflicts(wanted: dict[str, Any], has: dict[str, Any], taken: AcceptedNames, reason: str, message: str) -> None:
    """Reject names of other definitions, accept one's own, and report the last conflict."""
    crd = {"spec": {"names": wanted}, "status": {"acceptedNames": has}}

    _, condition = accept_names(crd, taken)

    assert (reason, message) == (condition.reason, condition.message)


def test_accepts_names_besides_a_conflict() -> None:
    """Accept all names without a conflict besides one in conflict."""
    wanted = {"plural": "a", "singular": "b", "kind": "A", "listKind": "AList", "categories": ["all"]}
    crd = {"spec": {"names": wanted}, "status": {"acceptedNames": {"plural": "", "kind": ""}}}

    accepted, _ = accept_names(crd, AcceptedNames({"b"}))

    assert accepted == {"plural": "a", "kind": "A", "listKind": "AList", "categories": ["all"]}


def test_does_not_establish_with_an_invalid_ca_bundle() -> None:
    """Accept the names, but do not establish a definition whose CA bundle is invalid."""
    client = {"url": "https://example.com", "caBundle": "eHg="}
    crd = decoded(body(conversion={"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}))

    after = reconcile_status(crd, AcceptedNames())

    conditions = {condition["type"]: (condition["status"], condition["reason"]) for condition in after["status"]["conditions"]}
    assert conditions == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("False", "InvalidCABundle")}


def test_marks_preserve_unknown_fields_as_non_structural() -> None:
    """Report preserveUnknownFields in the NonStructuralSchema condition, and remove the condition when it is fixed."""
    crd = decoded(body(preserveUnknownFields=True))
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"properties": {"a": {}}}

    after = reconcile_status(crd, AcceptedNames())
    fixed = reconcile_status(after | {"spec": decoded(body())["spec"]}, accepted_names([parsed(after)], "example.com"))

    condition = next(condition for condition in after["status"]["conditions"] if condition["type"] == "NonStructuralSchema")
    assert (condition["status"], condition["reason"]) == ("True", "Violations")
    assert condition["message"].startswith("[spec.preserveUnknownFields: Invalid value: true: must be false, ")
    assert "NonStructuralSchema" not in {condition["type"] for condition in fixed["status"]["conditions"]}


def test_keeps_non_structural_condition_until_fixed() -> None:
    """Keep the NonStructuralSchema condition of a definition that an older server stored, until its schema is fixed."""
    crd = decoded(body())
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}}
    condition = {"type": "NonStructuralSchema", "status": "True", "reason": "Violations", "message": "long ago"}
    crd["status"]["conditions"] = [condition]

    after = reconcile_status(crd, AcceptedNames())
    fixed = reconcile_status(after | {"spec": decoded(body())["spec"]}, AcceptedNames())

    found = next(one for one in after["status"]["conditions"] if one["type"] == "NonStructuralSchema")
    assert "must be a valid regular expression" in found["message"]
    assert "NonStructuralSchema" not in {one["type"] for one in fixed["status"]["conditions"]}
