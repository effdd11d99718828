"""Tests of the CRD of Conversion objects on the real kube-apiserver."""

from collections.abc import Iterator
from typing import Final

import pytest

from apiext.resources.conversion.rules.definition import conversion_definition
from hack.lib.differential.pair import Pair, Step
from tests.differential.helpers.differences import compared
from tests.support.builders.conversion_cases import ACCEPTED, REFUSED, with_rules

pytestmark = pytest.mark.slow

CONVERSIONS: Final = "/apis/conversions.apiext.dev/v1alpha1/conversions"
STRICT: Final = f"{CONVERSIONS}?fieldValidation=Strict&dryRun=All"


@pytest.fixture(scope="module")
def served(pair: Pair) -> Iterator[Pair]:
    """Serve Conversion objects on both servers."""
    with pair.served(conversion_definition()):
        yield pair


def test_all_kinds_of_rules_are_created(served: Pair) -> None:
    """Keep all rules."""
    document = with_rules(*ACCEPTED)
    assert served.reference.ask(Step("POST", STRICT, document)).code == 201

    compared(served, [Step("POST", CONVERSIONS, document)])
    # apiext has a status then, which only its own controller writes
    stored = Step("GET", f"{CONVERSIONS}/widgets.example.com")
    assert served.ours.ask(stored).body["spec"] == served.reference.ask(stored).body["spec"]


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_of_form_are_refused(served: Pair, name: str) -> None:
    """Refuse objects with the reference's messages."""
    step = Step("POST", STRICT, REFUSED[name])
    assert served.reference.ask(step).code in (400, 422)

    compared(served, [step])
