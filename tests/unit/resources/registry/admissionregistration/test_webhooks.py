"""Validation of updates of webhook configurations: what the old object has, too, is tolerated."""

from typing import Any

import pytest

from apiext.resources.registry.admissionregistration.kinds import VALIDATING_WEBHOOKS_KIND
from tests.unit.resources.registry.admissionregistration.objects import HOOK, configuration, new_errors, update_errors

_INVALID_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]}


@pytest.mark.parametrize(
    "member, value, place",
    [
        ("sideEffects", "Some", "sideEffects"),
        ("admissionReviewVersions", ["v9"], "admissionReviewVersions"),
        ("namespaceSelector", _INVALID_SELECTOR, "namespaceSelector.matchExpressions[0].values[0]"),
    ],
)
def test_tolerates_old_errors(member: str, value: Any, place: str) -> None:
    """Report an error of a new object, and of an update whose old object does not have it."""
    valid, invalid = configuration(HOOK), configuration(HOOK | {member: value})
    kind = VALIDATING_WEBHOOKS_KIND

    assert new_errors(kind, invalid) == update_errors(kind, invalid, valid) == [f"webhooks[0].{place}"]
    assert update_errors(kind, invalid, invalid) == []


def test_tolerates_old_duplicates() -> None:
    """Accept equal names if the old object has some."""
    twice = configuration(HOOK, HOOK)

    assert update_errors(VALIDATING_WEBHOOKS_KIND, twice, configuration(HOOK)) == ["webhooks[1].name"]
    assert update_errors(VALIDATING_WEBHOOKS_KIND, twice, twice) == []


def test_tolerates_unchanged_match_conditions() -> None:
    """Check match conditions only when one of them has changed."""
    broken = configuration(HOOK | {"matchConditions": [{"name": "a", "expression": "nothing"}]})
    more = configuration(HOOK | {"matchConditions": [{"name": "a", "expression": "nothing"}, {"name": "b", "expression": "true"}]})
    renamed = configuration(HOOK | {"name": "b.example.com", "matchConditions": [{"name": "a", "expression": "nothing"}]})

    assert new_errors(VALIDATING_WEBHOOKS_KIND, broken) == ["webhooks[0].matchConditions[0].expression"]
    assert update_errors(VALIDATING_WEBHOOKS_KIND, renamed, broken) == []
    assert update_errors(VALIDATING_WEBHOOKS_KIND, more, broken) == ["webhooks[0].matchConditions[0].expression"]
