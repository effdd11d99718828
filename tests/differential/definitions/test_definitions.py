"""Tests of definitions with written sequences of requests."""

from collections.abc import Iterator
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.differential.cases import definition_cases
from tests.differential.cases.definition_changes import CHANGES
from tests.differential.cases.definition_lifecycles import LIVES
from tests.differential.cases.definition_writes import WRITES
from tests.differential.helpers.differences import assert_none

pytestmark = pytest.mark.slow

SEQUENCES: Final = WRITES | LIVES | CHANGES
STRANDED: Final = " is removed, but "
"""A part of apiext's own warning about versions in which objects are stored."""
DRY: Final = f"{definition_cases.PATH}?dryRun=All"


@pytest.fixture
def clean(pair: Pair) -> Iterator[Pair]:
    """Return the pair, and delete the definitions of the test after it."""
    yield pair
    pair.remove_definitions(definition_cases.DOMAIN)


@pytest.mark.parametrize("name", definition_cases.TABLES)
def test_validation(pair: Pair, name: str) -> None:
    """Accept or refuse every definition of the table with the reference's message."""
    assert_none([line for body in definition_cases.TABLES[name]() for line in pair.differences(Step("POST", DRY, body))])


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequence(clean: Pair, name: str) -> None:
    """Return equal codes, headers and bodies for the sequence."""
    assert_none([line for step in SEQUENCES[name] for line in clean.differences(step) if STRANDED not in line])
