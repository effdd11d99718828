"""Programs: limits of costs, depth, optional old values, and the generated code."""

import pytest

from apiext.schema.cel.errors import BudgetError, CelError
from apiext.schema.cel.program import CostMeter
from apiext.schema.cel.values.run_time_values import OPTIONAL_NONE, OptionalValue
from tests.support.cel_values import program

NUMBERS = {"type": "array", "items": {"type": "integer"}}


def test_a_limit_ends_an_evaluation() -> None:
    """Stop in the middle of a loop, and leave a cost above the limit."""
    compiled, meter = program("self.all(x, self.all(y, self.all(z, x + y + z >= 0)))", NUMBERS), CostMeter(1_000_000)

    with pytest.raises(BudgetError, match="operation cancelled: actual cost limit exceeded"):
        compiled.evaluate_counted(list(range(200)), None, meter=meter)

    assert 1_000_000 < meter.cost < 1_010_000


def test_a_limit_is_no_error_that_logic_absorbs() -> None:
    """Exceed the limit on one side of `||`."""
    compiled = program("self.all(x, self.all(y, self.all(z, x / 0 == z))) || true", NUMBERS)

    with pytest.raises(BudgetError):
        compiled.evaluate_counted(list(range(200)), None, meter=CostMeter(1_000_000))


@pytest.mark.parametrize("failing", ["self[900] == {}", "self[900] != {}", "1 / 0 + {} > 1", "(1 / 0) in [{}]", "1 / 0 < {}"])
def test_a_loop_counts_beside_a_failure(failing: str) -> None:
    """Evaluate the second of two operands, and count its costs, although the first one failed."""
    compiled = program(failing.format("self.map(x, self.map(y, y).size()).size()") + " || true", NUMBERS)

    assert compiled.evaluate_counted([1] * 3, None, meter=CostMeter(1_000_000)) is True
    with pytest.raises(BudgetError):
        compiled.evaluate_counted([1] * 400, None, meter=CostMeter(1_000_000))


def test_the_first_of_two_failures_counts() -> None:
    """Report the failure of the first operand, whatever the loop in the second one fails with."""
    for expression, message in (
        ("self[9] == self.map(x, x / 0).size()", "index out of bounds: 9"),
        ("self[0] == self.map(x, x / 0).size()", "division by zero"),
    ):
        with pytest.raises(CelError, match=message):
            program(expression, NUMBERS).evaluate_counted([1], None, meter=CostMeter(1_000_000))


@pytest.mark.parametrize(
    "expression",
    [
        "(" * 200 + "self" + ")" * 200 + " == [1]",
        " && ".join(["self[0] == 1"] * 2000),
        " || ".join(["self[0] == 2 || self[5] == 3"] * 1000) + " || true",
        "[" * 60 + "1" + "]" * 60 + " != []",
        "self[0] == 2 ? false : " * 60 + "true",
        "1" + " + 1" * 120 + " == 121",
        "".join(f"self.all(x{i}, " for i in range(30)) + "x0 == 1 && (x29 == 1 || x28 == 2)" + ")" * 30,
        "".join(f"self.map(x{i}, " for i in range(30)) + "x0" + ")" * 30 + ".size() == 1",
        "(self[0] == 1 && (self[0] == 2 || " * 30 + "true" + "))" * 30,
        "!" * 60 + "(self == [1])",
    ],
    ids=["parentheses", "and", "or", "lists", "conditions", "sum", "loops", "maps", "alternation", "not"],
)
def test_depth_is_no_limit(expression: str) -> None:
    """Evaluate expressions that nest deeper than blocks and expressions of Python can."""
    compiled = program(expression, NUMBERS)

    assert compiled.evaluate([1], None) is True
    assert compiled.evaluate_counted([1], None, meter=CostMeter(10_000_000)) is True


def test_texts_are_data() -> None:
    """Evaluate literals, keys and fields that look like code."""
    hostile = "\\') or raise_SystemExit() #\" {meter.cost} \\n"
    schema = {"type": "object", "additionalProperties": {"type": "string"}}
    literal = hostile.replace("\\", "\\\\").replace("'", "\\'")

    assert program(f"self['{literal}'] == '{literal}'", schema).evaluate({hostile: hostile}, None) is True


@pytest.mark.parametrize(
    "expression", ["!isQuantity('1{')", "'{0}{'.split('{') == ['', '0}', '']", "'{x}'.find('[{]') == '{'", "!isURL('{}{0}')"]
)
def test_texts_are_data_where_their_cost_is_counted(expression: str) -> None:
    """Count the costs of functions of libraries, which depend on the text."""
    compiled, meter = program(expression, NUMBERS), CostMeter(1_000_000)

    assert compiled.evaluate_counted([], None, meter=meter) is True
    assert meter.cost


def test_an_optional_old_value() -> None:
    """Read an old value that is JSON, and none."""
    schema = {"type": "object", "properties": {"size": {"type": "number"}, "day": {"type": "string", "format": "date"}}}
    compiled = program("!oldSelf.hasValue() || oldSelf.value().size <= self.size", schema, optional_old_self=True)
    field = program("oldSelf.?day.orValue(self.day) == self.day && has(oldSelf.size)", schema, optional_old_self=True)

    assert compiled.evaluate({"size": 1}, OPTIONAL_NONE) is True
    assert compiled.evaluate({"size": 1}, OptionalValue({"size": 2})) is False
    assert field.evaluate({"day": "2024-01-01"}, OptionalValue({"size": 2, "day": "2024-01-01"})) is True
    assert field.evaluate({"day": "2024-01-01"}, OPTIONAL_NONE) is False


def test_a_value_of_another_type_than_the_schema_has_it() -> None:
    """Report what schema validation should have found as an overload that is missing."""
    with pytest.raises(CelError, match="no such overload"):
        program("self[0] < 1", NUMBERS).evaluate(["a"], None)


def test_a_simple_rule_is_a_few_statements() -> None:
    """Generate code that reads JSON in place and counts costs once."""
    schema = {"type": "object", "properties": {"least": {"type": "integer"}, "most": {"type": "integer"}}}
    source = program("self.least <= self.most", schema).source(counting=True)

    assert source.count("meter.cost") == 1
    assert "meter.cost += 5" in source
    assert "convert" not in source
