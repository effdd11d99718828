"""Comparison of the served versions of one definition."""

from __future__ import annotations

from typing import Any, Final

from apiext.resources.comparison.change import Grade
from apiext.resources.comparison.definition_comparison import compare_served_versions
from apiext.resources.comparison.grades import Grades
from tests.support.builders.crds import crd, definition, version

GRADES: Final = Grades()
WEBHOOK: Final = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1"]},
}


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a version."""
    return {"schema": {"type": "object", "properties": properties}}


TEXT: Final = {"type": "string"}
BETA: Final = version("v1beta1", **schema(a=TEXT))
STABLE: Final = version("v1", storage=True, **schema(a=TEXT | {"maxLength": 3}, b=TEXT))


def found(crd_object: dict[str, Any], grades: Grades = GRADES, known: dict[str, Any] | None = None) -> list[tuple[str, str, str]]:
    """Return version, rule and path of the changes."""
    before = definition(known) if known is not None else None
    changes = compare_served_versions(definition(crd_object), grades, before)
    return [(change.version, change.rule, change.path) for change in changes]


def test_both_ways_between_versions() -> None:
    """Report what an object loses or breaks on its way from one version to another, but not what it gains."""
    assert found(crd("widgets", BETA, STABLE)) == [
        ("v1beta1 -> v1", "maxLengthNarrowed", "a"),
        ("v1 -> v1beta1", "fieldRemoved", "b"),
    ]


def test_graded_changes() -> None:
    """Report what hurts nobody, too, if the grades call it an error."""
    strict = Grades({"fieldAdded": Grade.ERROR})

    assert ("v1beta1 -> v1", "fieldAdded", "b") in found(crd("widgets", BETA, STABLE), strict)


def test_versions_that_are_not_served() -> None:
    """Compare served versions only."""
    assert found(crd("widgets", BETA | {"served": False}, STABLE)) == []


def test_a_storage_version_that_is_not_served() -> None:
    """Compare the storage version, too: objects of other versions lose what it lacks."""
    stored = BETA | {"served": False, "storage": True}

    assert found(crd("widgets", stored, STABLE | {"storage": False}))[1] == ("v1 -> v1beta1", "fieldRemoved", "b")


def test_all_pairs() -> None:
    """Compare each version with each other one, the least preferred first."""
    versions = [version(name, storage=name == "v1", **schema(**{name: TEXT})) for name in ("v2", "v1", "v1alpha1")]

    pairs = [version for version, _, _ in found(crd("widgets", *versions))]

    assert pairs == ["v1alpha1 -> v1", "v1alpha1 -> v2", "v1 -> v1alpha1", "v1 -> v2", "v2 -> v1alpha1", "v2 -> v1"]


def test_a_webhook_converts() -> None:
    """Report nothing if a webhook converts, unless the grades ask for it."""
    with_webhook = crd("widgets", BETA, STABLE, conversion=WEBHOOK)

    assert found(with_webhook) == []
    assert len(found(with_webhook, Grades(compares_converted_versions=True))) == 2


def test_known_changes() -> None:
    """Leave out what the former definition had already."""
    more = version("v1", storage=True, **schema(a=TEXT | {"maxLength": 3}, b=TEXT, c=TEXT))

    assert found(crd("widgets", BETA, more), known=crd("widgets", BETA, STABLE)) == [("v1 -> v1beta1", "fieldRemoved", "c")]
    assert found(crd("widgets", BETA, STABLE), known=crd("widgets", BETA, STABLE)) == []
