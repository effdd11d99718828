"""Written sequences on definitions themselves: every answer equals the reference's."""

from collections.abc import Iterator
from typing import Final

import pytest

from tests.differential.cases import definition_cases
from tests.differential.cases.definition_changes import CHANGES
from tests.differential.cases.definition_lifecycles import LIVES
from tests.differential.cases.definition_writes import WRITES
from tests.differential.helpers.pair import Pair, Step

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SEQUENCES: Final = WRITES | LIVES | CHANGES
DRY: Final = f"{definition_cases.PATH}?dryRun=All"


@pytest.fixture
def clean(pair: Pair) -> Iterator[Pair]:
    """The pair, without the definitions of the test at its end."""
    yield pair
    pair.remove_definitions(definition_cases.DOMAIN)


@pytest.mark.parametrize("name", definition_cases.TABLES)
def test_judgement(pair: Pair, name: str) -> None:
    """Every definition of the table is taken or refused as by the reference, word for word."""
    found = [line for body in definition_cases.TABLES[name]() for line in pair.differences(Step("POST", DRY, body))]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)


@pytest.mark.parametrize("name", SEQUENCES)
def test_life(clean: Pair, name: str) -> None:
    """Every answer of the sequence has the reference's code, headers and body."""
    found = [line for step in SEQUENCES[name] for line in clean.differences(step)]

    assert not found, f"{len(found)} differences:\n" + "\n".join(found)
