"""Run-time values of CEL as text, and programs over schemas, for tests."""

import math
from typing import Any

from apiext.base.meta.golang import formatting
from apiext.schema.cel.ast import Uint
from apiext.schema.cel.declarations import DeclaredTypes, declare
from apiext.schema.cel.program import Program, compile_program
from apiext.schema.cel.rule_compiler import compile_expression, rule_environment
from apiext.schema.cel.types import CelType
from apiext.schema.cel.values.json_conversion import Shape
from apiext.schema.cel.values.run_time_values import Duration, OptionalValue, Timestamp
from apiext.schema.cel.values.times import format_duration, format_timestamp
from apiext.schema.cel.versions import stored_environment
from apiext.schema.model import Structural


def program(source: str, schema: dict[str, Any], *, optional_old_self: bool = False) -> Program:
    """Return the program of an expression over self and oldSelf.

    Raises:
        CompileError: The expression is not valid.
        CelError: It has a constant that cannot be converted.

    """
    structural = Structural(schema)
    declaration = declare(structural)
    if declaration is None:
        raise ValueError(schema)
    environment = rule_environment(stored_environment(), DeclaredTypes(declaration), optional_old_self=optional_old_self)
    variables = {"self": Shape(structural), "oldSelf": Shape(structural, optional=optional_old_self)}
    return compile_program(compile_expression(source, environment), variables, environment.functions)


def show(value: Any) -> str:
    """Return a value as an expression that has this value; entries of maps are sorted."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case Uint():
            return f"{int(value)}u"
        case float():
            return _show_double(value)
        case str():
            return formatting.quote(value)
        case bytes():
            return 'b"' + "".join(f"\\{byte:03o}" for byte in value) + '"'
        case list():
            return f"[{', '.join(map(show, value))}]"
        case dict():
            return f"{{{', '.join(sorted(f'{show(key)}: {show(entry)}' for key, entry in value.items()))}}}"
        case Timestamp():
            return f'timestamp("{format_timestamp(Timestamp(value.nanoseconds))}")'
        case Duration():
            return f'duration("{format_duration(value)}")'
        case CelType():
            return value.name
        case OptionalValue():
            return f"optional.of({show(value.value)})" if value.present else "optional.none()"
    return str(value)


def _show_double(value: float) -> str:
    if not math.isfinite(value):
        return f'double("{"NaN" if math.isnan(value) else "-Infinity" if value < 0 else "Infinity"}")'
    text = formatting.number(value, min_exponent=-400, max_exponent=400)
    return text if "." in text else f"{text}.0"
