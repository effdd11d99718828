"""A table of expressions with the values, errors and costs that the reference gave for them (cel-go with the environment of 1.37)."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from apiext.schema.cel.errors import CelError
from apiext.schema.cel.program import CostMeter
from tests.support.cel_values import program, show

TABLE: Final = orjson.loads((Path(__file__).parent / "data" / "evaluations.json").read_bytes())
CASES: Final = TABLE["cases"]
NO_PROGRAM: Final = "program: "


@pytest.mark.parametrize("case", CASES, ids=[case["expression"] for case in CASES])
def test_the_evaluation_is_that_of_the_reference(case: dict[str, Any]) -> None:
    """Compare value, error and cost; without counting, value and error are the same."""
    values = TABLE["self"], TABLE["oldSelf"]
    if case.get("error", "").startswith(NO_PROGRAM):
        with pytest.raises(CelError) as caught:
            program(case["expression"], TABLE["schema"])
        assert str(caught.value) == case["error"].removeprefix(NO_PROGRAM)
        return
    compiled, meter = program(case["expression"], TABLE["schema"]), CostMeter(1_000_000)
    expected = {key: case[key] for key in ("value", "error") if key in case}

    assert _outcome(partial(compiled.evaluate, *values)) == expected
    assert _outcome(partial(compiled.evaluate_counted, *values, meter=meter)) == expected
    assert meter.cost == case["cost"]


def _outcome(evaluate: Callable[[], object]) -> dict[str, str]:
    try:
        return {"value": show(evaluate())}
    except CelError as error:
        return {"error": str(error)}
