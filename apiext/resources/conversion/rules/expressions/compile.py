"""Compiles expressions: their types, their costs, and their programs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.base.meta.field import forbidden, invalid
from apiext.resources.conversion.rules.field_types import OPEN
from apiext.resources.conversion.rules.operations.fields import FieldAccess
from apiext.resources.conversion.rules.operations.operation import MISSING
from apiext.schema.cel.checking.program_validation import program_fault
from apiext.schema.cel.cost.limits import MAX_EXPRESSION_COST, exceeded
from apiext.schema.cel.declarations import DeclaredTypes, declare
from apiext.schema.cel.program import compile_program
from apiext.schema.cel.rule_compiler import compile_expression
from apiext.schema.cel.rules.expression import Expression
from apiext.schema.cel.syntax.source import CompileError
from apiext.schema.cel.types import BOOL, BYTES, DOUBLE, DURATION, DYN, INT, NULL, STRING, TIMESTAMP, UINT
from apiext.schema.cel.values.json_conversion import Shape
from apiext.schema.cel.versions import new_environment
from apiext.schema.model import Structural

if TYPE_CHECKING:
    from typing import Any

    from apiext.base.meta.field import FieldError, Path
    from apiext.resources.conversion.rules.expressions.json_results import JsonResults
    from apiext.resources.conversion.rules.model import Assignment
    from apiext.schema.cel.declarations import Declaration
    from apiext.schema.cel.types import CelType

_DATE_LENGTH: Final = len("2006-01-02")
_OBJECT: Final = re.compile(r"selfType0[^,)]*")

_SCALARS: Final = {
    "string": frozenset({STRING, BYTES, DURATION, TIMESTAMP}),
    "integer": frozenset({INT, UINT}),
    "number": frozenset({INT, UINT, DOUBLE}),
    "boolean": frozenset({BOOL}),
}
_INTEGER_OR_TEXT: Final = frozenset({INT, UINT, STRING})


def fits(kind: CelType, schema: Structural, types: DeclaredTypes) -> bool:
    """Return whether values of a type may be values of a schema. `types` are those of the schema that expressions read."""
    if kind == DYN or (kind == NULL and schema.nullable):
        return True
    if kind.name == "optional_type":
        return fits(kind.parameters[0], schema, types)
    if schema.raw.get("x-kubernetes-int-or-string") is True:
        return kind in _INTEGER_OR_TEXT
    expected = schema.raw.get("type")
    if expected is None:
        return schema.preserve
    if expected == "array":
        return kind.name == "list" and schema.items is not None and fits(kind.parameters[0], schema.items, types)
    return _fits_object(kind, schema, types) if expected == "object" else kind in _SCALARS[expected]


def _fits_object(kind: CelType, schema: Structural, types: DeclaredTypes) -> bool:
    if kind.name == "map":
        key, value = kind.parameters
        return key in {STRING, DYN} and (schema.additional is None or fits(value, schema.additional, types))
    if kind.name not in types:
        return False
    fields = types.declaration(kind.name).fields
    for identifier, field in fields.items():
        # what the target does not specify is pruned
        target = schema.properties.get(field.property) or schema.additional
        found = types.field(kind.name, identifier)
        if target is not None and found is not None and not fits(found, target, types):
            return False
    return True


@dataclass(frozen=True, slots=True)
class CompiledAssignment:
    """An expression, and the field that it sets."""

    path: str
    """The field, for errors."""
    place: str
    """The expression in the Conversion object."""
    expression: Expression
    field: FieldAccess
    is_date: bool
    """Whether the field is a date: the expression then returns a point in time."""

    def json(self, result: Any, results: JsonResults) -> Any:
        """Return a result of the expression as JSON, MISSING for an empty optional. Raises as JsonResults.json."""
        value = results.json(result)
        return value[:_DATE_LENGTH] if self.is_date and type(value) is str else value

    def assign(self, obj: Any, value: Any) -> None:
        """Set the field in place, or remove it if the value is MISSING.

        Raises:
            ConversionError: a parent of the field is no object.
        """
        if value is MISSING:
            self.field.take(obj)
        else:
            self.field.place(obj, value)


class AssignmentCompiler:
    """Compiles the expressions that read one version. Collects their errors."""

    def __init__(self, schema: Structural) -> None:
        self._declaration = _declared(schema)
        self._types = DeclaredTypes(self._declaration)
        self._environment = new_environment().with_variables({"self": self._types.kind}, self._types)
        self.errors: list[FieldError] = []

    def compile(self, assignment: Assignment, text: str, target: Structural | None, at: Path) -> CompiledAssignment | None:
        """Return a compiled expression; None after an error.

        `target` is the schema of the field, None for a field that other rules take away. `text` is the field's path.
        """
        source = assignment.expression
        try:
            checked = compile_expression(source, self._environment)
        except CompileError as error:
            self.errors.append(invalid(at, source, f"compilation failed: {error}"))
            return None
        if (fault := program_fault(checked, self._environment)) is not None:
            self.errors.append(invalid(at, source, f"program instantiation failed: {fault}"))
            return None
        kind = checked.types[checked.expression.id]
        if target is not None and target is not OPEN and not fits(kind, target, self._types):
            self.errors.append(invalid(at, source, f"evaluates to {_shown(kind)}, but {text} is of type {_expected(target)}"))
            return None
        shape = Shape(self._declaration.schema)
        program = compile_program(checked, {"self": shape}, self._environment.functions)
        expression = Expression(checked, self._declaration, self._environment.functions, program)
        if (cost := expression.estimated_cost) > MAX_EXPRESSION_COST:
            self.errors.append(forbidden(at, exceeded("estimated expression cost", cost, MAX_EXPRESSION_COST)))
            return None
        is_date = target is not None and target.raw.get("format") == "date"
        return CompiledAssignment(text, str(at), expression, FieldAccess(assignment.path), is_date)


def _declared(schema: Structural) -> Declaration:
    found = declare(schema.as_resource(), resource=True)
    # a version without a schema has the fields of every resource
    return _declared(Structural({"type": "object"})) if found is None else found


def _shown(kind: CelType) -> str:
    """Return a type as errors show it: the types of objects have no names for authors."""
    return _OBJECT.sub("object", str(kind))


def _expected(target: Structural) -> str:
    return "integer or string" if target.raw.get("x-kubernetes-int-or-string") is True else str(target.raw.get("type") or "any")
