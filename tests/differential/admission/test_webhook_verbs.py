"""Webhooks are asked the same about every verb and subresource."""

import pytest

from tests.differential.cases.admission_objects import MUTATING, THINGS, THINGS_V2, VALIDATING, life
from tests.differential.helpers.differences import assert_none
from tests.differential.helpers.guarded_pair import GuardedPair

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("things, version", [(THINGS, "v1"), (THINGS_V2, "v2")])
def test_life(guarded: GuardedPair, things: str, version: str) -> None:
    """Send the reference's reviews in the life of an object."""
    with guarded.installed(MUTATING, VALIDATING):
        assert_none(guarded.compare(life(things, version)))
