"""What breaks and what to know, one line for each field."""

from typing import Final

from apiext.tools.plan.field_lines import break_lines, caution_lines
from tests.support.builders.plans import ListedObjects, created, custom, only, plan_of, shaped

STATUS: Final = {"type": "object", "properties": {"spec": {"type": "object"}, "status": {"type": "object"}}}


def test_one_line_for_a_field() -> None:
    """Name all versions of a field in one line, with what happens to objects."""
    old = created(shaped("v1", "a", "b", storage=True), shaped("v2", "a", "b"))
    found = only(plan_of(old, created(shaped("v1", "a", storage=True), shaped("v2", "a")), ListedObjects(custom("w", a="x", b="y"))))

    assert break_lines(found) == [
        "spec.b: the field (string) was removed (v1, v2); 1 object: a read no longer gives the field (default/w)",
    ]


def test_deprecated_versions_are_last() -> None:
    """Put fields of deprecated versions after others, and deprecated versions last in a line."""
    old = created(shaped("v2", "a", "b", "c"), shaped("v1", "a", "b", "c", storage=True))
    new = created(shaped("v2", "b", "c"), shaped("v1", "c", storage=True, deprecated=True))

    assert break_lines(only(plan_of(old, new))) == [
        "spec.a: the field (string) was removed (v2, v1)",
        "spec.b: the field (string) was removed (v1)",
    ]


def test_a_new_field_of_one_version() -> None:
    """Name the versions that have a new field and those that lack it, in one line of what there is to know."""
    versions = [shaped("v1beta1", "a", deprecated=True), shaped("v1beta2", "a"), shaped("v1", "a", storage=True)]
    new = created(*versions[:2], shaped("v1", "a", "aNewField", storage=True))
    found = only(plan_of(created(*versions), new))

    assert break_lines(found) == []
    assert caution_lines(found) == ["v1 has spec.aNewField (new), v1beta2 and v1beta1 lack it: writes there remove it"]


def test_other_reasons_come_first() -> None:
    """Keep reasons that are about no field."""
    found = only(plan_of(created(shaped("v1", "a", storage=True)), created(shaped("v1", "a", storage=True), scope="Cluster")))

    assert break_lines(found)[0].startswith("kube-apiserver refuses the update: spec.scope")
