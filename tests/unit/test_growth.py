"""Tests that parsers, formats, selectors and validators take time linear in their input."""

import pytest

from tests.support.growth import cel_libraries, comparison, definitions, endpoints, meta, schema, selectors
from tests.support.growth.measure import MAX_RATIO, Case, ratio

CASES = (*cel_libraries.CASES, *comparison.CASES, *definitions.CASES, *endpoints.CASES, *meta.CASES, *schema.CASES, *selectors.CASES)


@pytest.mark.long("tests/support/growth")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_time_is_linear(case: Case) -> None:
    """Take about four times as long for an input of four times the size."""
    assert ratio(case) <= MAX_RATIO
