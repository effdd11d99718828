"""Tests of generated definitions, most of them with one error, in create and replace requests."""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import Final

import pytest

from hack.lib.differential.pair import Pair, Step
from tests.support.builders.generated_definitions import broken, definition
from tests.support.builders.seeds import seeded

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP: Final = "generated.example.com"
ONE: Final = f"{PATH}/things.{GROUP}"
ROUNDS: Final = int(os.environ.get("APIEXT_DIFFERENTIAL_ROUNDS", "3"))
NEW: Final = 300
"""New definitions of each round."""
KEPT: Final = 3
CHANGES: Final = 30
"""Stored definitions of each round, and changes of each of them."""
VALIDATIONS: Final = ("", "&fieldValidation=Strict", "&fieldValidation=Ignore")


@pytest.fixture
def clean(pair: Pair) -> Iterator[Pair]:
    """Return the pair, and delete the definitions of the test after it."""
    yield pair
    pair.remove_definitions(GROUP)


def new() -> Iterator[Step]:
    """Yield dry-run creates of definitions."""
    for index in range(NEW * ROUNDS):
        rng = seeded(f"new{index}")
        made = definition(GROUP, rng)
        yield Step("POST", f"{PATH}?dryRun=All{rng.choice(VALIDATIONS)}", made if rng.random() < 0.1 else broken(made, rng))


def changed(index: int) -> Iterator[Step]:
    """Yield a definition to store, and replacements of it."""
    rng = seeded(f"changed{index}")
    kept = definition(GROUP, rng)
    yield Step("POST", PATH, kept)
    yield Step("GET", ONE, retry=True, until="InitialNamesAccepted")
    for _ in range(CHANGES):
        other = kept if rng.random() < 0.5 else definition(GROUP, rng)
        other = other if rng.random() < 0.1 else broken(other, rng)
        if rng.random() < 0.5:
            yield Step("PATCH", f"{ONE}?dryRun=All{rng.choice(VALIDATIONS)}", other)
        else:
            other = other | {"metadata": {"name": f"things.{GROUP}", "resourceVersion": f"{{rv:{ONE}}}"}}
            yield Step("PUT", f"{ONE}?dryRun=All{rng.choice(VALIDATIONS)}", other)
    yield Step("DELETE", ONE)
    yield Step("GET", ONE, retry=True, until="not found")


def _report(pair: Pair, steps: Iterable[Step], capsys: pytest.CaptureFixture[str]) -> None:
    count, varied = pair.compared, pair.varied
    found = ["\n".join(lines)[:4000] for step in steps if (lines := pair.differences(step))]
    count, varied = pair.compared - count, pair.varied - varied
    with capsys.disabled():
        sys.stdout.write("\n".join(["", f"{count} comparisons, {len(found)} different, {varied} asked again", *found, ""]))
    assert not found, json.dumps({"compared": count, "different": len(found)})


def test_new(pair: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    """Return the reference's response to a new definition."""
    _report(pair, new(), capsys)


def test_changed(clean: Pair, capsys: pytest.CaptureFixture[str]) -> None:
    """Return the reference's response to a changed definition."""
    _report(clean, (step for index in range(KEPT * ROUNDS) for step in changed(index)), capsys)
