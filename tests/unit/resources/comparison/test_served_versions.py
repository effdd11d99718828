"""Comparison of the served versions of one definition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from apiext.resources.comparison.change import Grade
from apiext.resources.comparison.definition_comparison import compare_served_versions
from apiext.resources.comparison.grades import Grades, named_grades
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

    assert found(crd("widgets", BETA, more), known=crd("widgets", BETA, STABLE)) == [("v1 -> v1beta1", "newFieldMissing", "c")]
    assert found(crd("widgets", BETA, STABLE), known=crd("widgets", BETA, STABLE)) == []


def test_a_version_like_another_one() -> None:
    """Leave out what an older version lacks of a new version, if it lacked the same of another version before."""
    after = crd("widgets", BETA, STABLE, version("v2", **schema(a=TEXT | {"maxLength": 3}, b=TEXT)))

    assert found(after, known=crd("widgets", BETA, STABLE)) == [("v1beta1 -> v2", "maxLengthNarrowed", "a")]


ITEMS: Final = {"type": "object", "properties": {"list": {"type": "array", "items": {"type": "object", "properties": {"new": TEXT}}}}}
OPEN: Final = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.mark.parametrize(
    "known,stable,rule",
    [
        ([BETA], schema(a=TEXT, new=TEXT), "newFieldMissing"),
        ([BETA], schema(a=TEXT, new=ITEMS), "newFieldMissing"),
        ([BETA], {"schema": schema(a=TEXT, new=TEXT)["schema"] | {"required": ["new"]}}, "fieldRemoved"),
        ([BETA, version("v1alpha1", served=False, **schema(new=TEXT))], schema(a=TEXT, new=TEXT), "fieldRemoved"),
        ([version("v1beta1", schema=OPEN)], schema(a=TEXT, new=TEXT), "fieldRemoved"),
        ([version("v1beta1", **schema(a=TEXT, new=TEXT))], schema(a=TEXT, new=TEXT), "fieldRemoved"),
    ],
    ids=["new", "new-with-parts", "required", "in-a-former-version", "kept-unchecked-before", "removed-from-one"],
)
def test_a_new_field_of_one_version(known: list[dict[str, Any]], stable: dict[str, Any], rule: str) -> None:
    """Call an optional field of one version no removal from the others if no object can have it yet."""
    before = crd("widgets", *[one | {"storage": place == 0} for place, one in enumerate(known)])

    changes = found(crd("widgets", BETA, version("v1", storage=True, **stable)), known=before)

    assert rule in [name for pair, name, path in changes if (pair, path) == ("v1 -> v1beta1", "new")]


def test_the_storage_version_lacks_a_new_field() -> None:
    """Call it a removal if no write keeps the field: the storage version lacks it."""
    new = crd("widgets", BETA | {"storage": True}, version("v1", **schema(a=TEXT, b=TEXT)))

    assert found(new, known=crd("widgets", BETA | {"storage": True})) == [("v1 -> v1beta1", "fieldRemoved", "b")]


SHORT: Final = schema(a=TEXT | {"maxLength": 3})
LONG: Final = schema(a=TEXT)
LONGER: Final = schema(a=TEXT | {"maxLength": 4})


@pytest.mark.parametrize(
    "known,new,rules",
    [
        ([SHORT, SHORT], [SHORT, LONG], ["newValueRefused"]),
        ([SHORT], [SHORT, LONG], ["newValueRefused"]),
        ([LONGER, LONGER], [SHORT, LONG], ["maxLengthNarrowed"]),
        ([LONG, LONG], [SHORT, LONG], ["maxLengthNarrowed"]),
        ([SHORT, LONGER], [SHORT, LONG], ["maxLengthNarrowed"]),
        ([SHORT, LONG], [SHORT, LONG], []),
    ],
    ids=["one-is-loosened", "a-loose-one-is-added", "both-ways", "one-is-restricted", "known", "unchanged"],
)
def test_a_version_that_is_loosened(known: list[dict[str, Any]], new: list[dict[str, Any]], rules: list[str]) -> None:
    """Call a version no stricter one if another was loosened, and all objects of the former definition are valid in it."""
    before, after = (
        crd("widgets", *[version(f"v{number}", storage=number == 1, **one) for number, one in enumerate(made, 1)]) for made in (known, new)
    )

    assert [rule for _, rule, _ in found(after, known=before)] == rules


def test_an_optional_parent_that_only_one_version_has() -> None:
    """Look at what is above and below a field, too: objects that lose a part may break what holds for the rest."""
    some = {"type": "object", "properties": {"x": TEXT, "y": TEXT}}
    stable, after = schema(a=some | {"minProperties": 1}), schema(a=some | {"minProperties": 0})
    beta = version("v1beta1", **schema(a={"type": "object", "properties": {"x": TEXT}, "minProperties": 1}))

    changes = found(
        crd("widgets", beta, version("v1", storage=True, **after)), known=crd("widgets", beta, version("v1", storage=True, **stable))
    )

    assert changes == [("v1 -> v1beta1", "minPropertiesNarrowed", "a")]


def test_a_field_that_only_one_version_requires_still() -> None:
    """Take no notice of what the versions have below a required field: that it is there does not depend on it."""
    some = {"type": "object", "properties": {"x": TEXT, "y": TEXT}}
    beta = version("v1beta1", schema=schema(a=some | {"properties": {"x": TEXT}})["schema"] | {"required": ["a"]})
    stable = schema(a=some)["schema"]

    changes = found(
        crd("widgets", beta, version("v1", storage=True, schema=stable)),
        known=crd("widgets", beta, version("v1", storage=True, schema=stable | {"required": ["a"]})),
    )

    assert changes == [("v1beta1 -> v1", "requiredRemoved", "a"), ("v1 -> v1beta1", "newValueRefused", "a")]


def test_values_that_one_version_allows_first_are_a_warning() -> None:
    """Grade it as a warning that names both versions, and as an error with the grades of crdify."""
    old = definition(crd("widgets", version("v1beta1", **SHORT), version("v1", storage=True, **SHORT)))
    new = definition(crd("widgets", version("v1beta1", **SHORT), version("v1", storage=True, **LONG)))
    grades = [GRADES, replace(named_grades("crdify"), compares_converted_versions=True)]

    (change,), (strict,) = [compare_served_versions(new, one, old) for one in grades]

    assert (change.grade, strict.grade) == (Grade.WARNING, Grade.ERROR)
    assert change.message == "v1 allows more (new), v1beta1 does not: writes there may be refused (maxLength 3 was added)"


def test_a_new_field_is_a_warning() -> None:
    """Grade it as a warning, and as an error with the grades of crdify, which knows removals only."""
    old = definition(crd("widgets", BETA | {"storage": True}))
    new = definition(crd("widgets", BETA, version("v1", storage=True, **schema(a=TEXT, b=TEXT))))
    grades = [GRADES, replace(named_grades("crdify"), compares_converted_versions=True)]

    assert [[change.grade for change in compare_served_versions(new, one, old)] for one in grades] == [[Grade.WARNING], [Grade.ERROR]]
