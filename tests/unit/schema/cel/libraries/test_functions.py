"""Functions of all libraries; the expected values, errors and run-time costs are those of the reference (environment of 1.37)."""

from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from apiext.schema.cel.errors import BudgetError, CelError
from apiext.schema.cel.program import CostMeter, compile_program
from apiext.schema.cel.rule_compiler import compile_expression
from apiext.schema.cel.versions import stored_environment
from tests.support.cel_values import program, show

TABLES: Final = sorted((Path(__file__).parent / "data").glob("*.jsonl"))
_LIMIT: Final = 1_000_000
"""Cost that the reference allows a call."""


def _evaluated(expression: str) -> dict[str, Any]:
    """Return the value or the error of an expression, and its cost."""
    environment = stored_environment()
    compiled = compile_program(compile_expression(expression, environment), {}, environment.functions)
    meter = CostMeter(_LIMIT)
    try:
        result = {"value": show(compiled.evaluate_counted(meter=meter))}
    except CelError as error:
        result = {"error": str(error)}
    return {"expression": expression} | result | {"cost": meter.cost}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_functions(table: Path) -> None:
    """A function has the reference's result and cost."""
    for case in map(orjson.loads, table.read_bytes().splitlines()):
        assert _evaluated(case["expression"]) == case


@pytest.mark.parametrize(
    "expression, error",
    [
        ("ip('1.2.3.256')", 'IP Address "1.2.3.256" parse error during conversion from string: '),
        ("ip('01.2.3.4')", 'IP Address "01.2.3.4" parse error during conversion from string: '),
        ("cidr('1.2.3.0/33')", "network address parse error during conversion from string: "),
        ("cidr('1.2.3.4/08')", "network address parse error during conversion from string: "),
        ("cidr('1.2.3.4/255.0.0.0')", "network address parse error during conversion from string: "),
        ("cidr('1.2.3.4')", "network address parse error during conversion from string: "),
        ("url('a b')", "URL parse error during conversion from string: "),
        ("semver('1.0')", "No Major.Minor.Patch elements found"),
        ("semver('1.0.01')", 'Patch number must not contain leading zeroes "01"'),
        ("semver('v1-a', true)", "short version cannot contain PreRelease/Build meta data"),
        ("semver('')", "Version string empty"),
        ("semver('a.0.0')", 'Invalid character(s) found in major number "a"'),
        ("semver('1..0')", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("semver('1.0.0-')", "Prerelease is empty"),
        ("semver('1.0.0-01')", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("semver('1.0.0+a_b')", 'Invalid character(s) found in build meta data "a_b"'),
        ("cidr('10.0.0.0')", "network address parse error during conversion from string: network address parse error during conversion"),
        ("ip('x')", 'IP Address "x" parse error during conversion from string: ParseAddr("x"): unable to parse IP'),
        ("'%.10001f'.format([1.5])", "error during formatting: precision 10001 is greater than 10000"),
    ],
)
def test_errors_of_texts(expression: str, error: str) -> None:
    """An error about a text that is no address, URL or version names it, in words of our own."""
    assert _evaluated(expression)["error"].startswith(error)


def test_every_library_has_cases() -> None:
    """No table is lost."""
    assert len(TABLES) == 14


@pytest.mark.parametrize(
    "expression, value",
    [
        ("optional.ofNonZeroValue(self.l)", "optional.of([])"),
        ("optional.ofNonZeroValue(self.m)", "optional.of({})"),
        ("optional.ofNonZeroValue(dyn(self.l))", "optional.of([])"),
        ("self.ll.map(x, optional.ofNonZeroValue(x).hasValue())", "[true]"),
        ("optional.ofNonZeroValue(self.l + [])", "optional.none()"),
        ("optional.ofNonZeroValue(self.l.filter(x, true))", "optional.none()"),
        ("optional.ofNonZeroValue(self.s)", "optional.none()"),
    ],
)
def test_containers_of_objects_are_no_zero_values(expression: str, value: str) -> None:
    """An empty list or map of an object is a value, an empty list that the expression makes is none."""
    texts = {"type": "array", "items": {"type": "string"}}
    properties = {
        "l": texts,
        "ll": {"type": "array", "items": texts},
        "m": {"type": "object", "additionalProperties": {"type": "string"}},
        "s": {"type": "string"},
    }
    document: dict[str, Any] = {"l": [], "ll": [[]], "m": {}, "s": ""}

    assert value == show(program(expression, {"type": "object", "properties": properties}).evaluate(document, document))


@pytest.mark.parametrize(
    "expression",
    ["self.s.replace('', self.s)", "self.s.split('').join(self.s)", "'%s%s%s'.format([self.s, self.s, self.s] + [self.s]) + ''"],
)
def test_results_are_bounded(expression: str) -> None:
    """A call whose result would be too large exceeds the budget, though its cost follows its arguments."""
    schema = {"type": "object", "properties": {"s": {"type": "string"}}}
    document = {"s": "a" * (6 << 20)}

    with pytest.raises(BudgetError):
        program(expression, schema).evaluate(document, document)
