"""Grades for rules, definitions, versions and fields."""

from __future__ import annotations

import pytest

from apiext.resources.comparison.change import Change, Grade, Hurts, UngradedChange
from apiext.resources.comparison.grades import ExceptionAt, Grades, GradesAt, Place

REMOVED = UngradedChange("fieldRemoved", "the field was removed", "spec.hosts[].name")


def graded(grades: Grades, change: UngradedChange = REMOVED) -> Change:
    """Return a change of v1 of a definition."""
    return grades.graded(change, "widgets.example.com", "v1")


def test_grades_of_the_rules() -> None:
    """Give a change the grade of its rule."""
    assert graded(Grades()) == Change("fieldRemoved", "v1", "spec.hosts[].name", "the field was removed", Hurts.CLIENTS, Grade.ERROR)


@pytest.mark.parametrize(
    "place, fits",
    [
        (Place(), True),
        (Place(definition="widgets.example.com"), True),
        (Place(definition="*.example.com"), True),
        (Place(definition="*.example.org"), False),
        (Place(version="v1"), True),
        (Place(version="v1*"), True),
        (Place(version="v2"), False),
        (Place(path="spec"), True),
        (Place(path="spec.hosts"), True),
        (Place(path="spec.hosts[]"), True),
        (Place(path="spec.hosts[].name"), True),
        (Place(path="spec.host"), False),
        (Place(path="spec.hosts[].name.first"), False),
        (Place(path="status"), False),
    ],
)
def test_places(place: Place, *, fits: bool) -> None:
    """Find the grade for a place: patterns of definitions and versions, and a field with all below it."""
    at = GradesAt(place, {"fieldRemoved": Grade.NOTE})

    assert graded(Grades(places=[at])).grade is (Grade.NOTE if fits else Grade.ERROR)


def test_the_order_of_grades() -> None:
    """Let places count before rules, and of several places the last."""
    rules = {"fieldRemoved": Grade.WARNING}
    note, ignore = (GradesAt(Place(path="spec"), {"fieldRemoved": grade}) for grade in (Grade.NOTE, Grade.IGNORE))
    other = GradesAt(Place(path="spec"), {"fieldAdded": Grade.ERROR})

    assert graded(Grades(rules)).grade is Grade.WARNING
    assert graded(Grades(rules, [ignore, note, other])).grade is Grade.NOTE


def test_exceptions() -> None:
    """Ignore what has an exception, with its reason, whatever the grades say."""
    all_rules = ExceptionAt(Place(path="spec"), frozenset(), "never used")
    one_rule = ExceptionAt(Place(), frozenset({"fieldAdded"}), "new")

    change = graded(Grades({"fieldRemoved": Grade.ERROR}, exceptions=[one_rule, all_rules]))

    assert (change.grade, change.reason, change.hurts) == (Grade.IGNORE, "never used", Hurts.CLIENTS)
    assert graded(Grades(exceptions=[one_rule])).grade is Grade.ERROR


def test_grades_count_in_unused_versions() -> None:
    """Let a file's grade count, too, where a change hurts nobody because the version is not served."""
    narrowed = UngradedChange("maxLengthNarrowed", "x", "spec")

    change = Grades().graded(narrowed, "a", "v1", is_used=False)
    strict = Grades({"maxLengthNarrowed": Grade.ERROR}).graded(narrowed, "a", "v1", is_used=False)

    assert (change.hurts, change.grade) == (Hurts.NOBODY, Grade.NOTE)
    assert (strict.hurts, strict.grade) == (Hurts.NOBODY, Grade.ERROR)
