"""Macros: calls that the parser replaces by loops and conditions (cel-go parser/macro.go, ext/comprehensions.go, cel/library.go)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from apiext.schema.cel.ast import Comprehension, Constant, Expression, Identifier, MapLiteral, Select
from apiext.schema.cel.syntax.node_factory import RESULT_VARIABLE, MacroFactory

_OLD_RESULT_VARIABLE: Final = "__result__"
_UNUSED: Final = "#unused"
_SORTED: Final = "@__sortBy_input__"
_OVERWRITES: Final = "iteration variable overwrites accumulator variable"


class MacroError(Exception):
    """Arguments that a macro does not accept."""

    def __init__(self, node: Expression, message: str) -> None:
        """Set the node with the error."""
        super().__init__(message)
        self.node = node


Expander = Callable[[MacroFactory, Expression, tuple[Expression, ...]], Expression]
"""Returns the expansion, given the receiver (of a function: its first argument) and the arguments. May raise MacroError."""

Macros = Mapping[tuple[str, int, bool], Expander]
"""Expanders by name, number of arguments and whether it is a method."""


def _variable(node: Expression, message: str) -> str:
    if not isinstance(node, Identifier):
        raise MacroError(node, message)
    return node.name


def _simple_variable(node: Expression, message: str) -> str:
    name = _variable(node, message)
    if name in {RESULT_VARIABLE, _OLD_RESULT_VARIABLE}:
        raise MacroError(node, _OVERWRITES)
    return name


def _two_variables(first: Expression, second: Expression) -> tuple[str, str]:
    names = tuple(_variable(node, "argument must be a simple name") for node in (first, second))
    if names[0] == names[1]:
        raise MacroError(second, f"duplicate variable name: {names[0]}")
    return _simple_variable(first, ""), _simple_variable(second, "")


def _loop(
    factory: MacroFactory,
    target: Expression,
    variables: tuple[str, str],
    start: Expression,
    condition: Expression,
    step: Expression,
    result: Expression | None = None,
) -> Comprehension:
    result = result or factory.result()
    return Comprehension(factory.identify(), target, *variables, RESULT_VARIABLE, start, condition, step, result)


def _has(factory: MacroFactory, _: Expression, arguments: tuple[Expression, ...]) -> Expression:
    (argument,) = arguments
    if not isinstance(argument, Select):
        raise MacroError(argument, "invalid argument to has() macro")
    return Select(factory.identify(), argument.operand, argument.field, test_only=True)


def _all(factory: MacroFactory, target: Expression, variables: tuple[str, str], predicate: Expression) -> Expression:
    start = factory.constant(value=True)
    condition = factory.call("@not_strictly_false", factory.result())
    return _loop(factory, target, variables, start, condition, factory.call("_&&_", factory.result(), predicate))


def _exists(factory: MacroFactory, target: Expression, variables: tuple[str, str], predicate: Expression) -> Expression:
    start = factory.constant(value=False)
    condition = factory.call("@not_strictly_false", factory.call("!_", factory.result()))
    return _loop(factory, target, variables, start, condition, factory.call("_||_", factory.result(), predicate))


def _exists_one(factory: MacroFactory, target: Expression, variables: tuple[str, str], predicate: Expression) -> Expression:
    start = factory.constant(0)
    condition = factory.constant(value=True)
    step = factory.call("_?_:_", predicate, factory.call("_+_", factory.result(), factory.constant(1)), factory.result())
    result = factory.call("_==_", factory.result(), factory.constant(1))
    return _loop(factory, target, variables, start, condition, step, result)


_Quantifier = Callable[[MacroFactory, Expression, tuple[str, str], Expression], Expression]


def _one_variable(quantifier: _Quantifier) -> Expander:
    def expand(factory: MacroFactory, target: Expression, arguments: tuple[Expression, ...]) -> Expression:
        variable = _simple_variable(arguments[0], "argument must be a simple name")
        return quantifier(factory, target, (variable, ""), arguments[1])

    return expand


def _with_two_variables(quantifier: _Quantifier) -> Expander:
    def expand(factory: MacroFactory, target: Expression, arguments: tuple[Expression, ...]) -> Expression:
        return quantifier(factory, target, _two_variables(arguments[0], arguments[1]), arguments[2])

    return expand


def _filtered(factory: MacroFactory, condition: Expression | None, step: Expression) -> Expression:
    return step if condition is None else factory.call("_?_:_", condition, step, factory.result())


def _map(factory: MacroFactory, target: Expression, arguments: tuple[Expression, ...]) -> Expression:
    variable = _simple_variable(arguments[0], "argument is not an identifier")
    start = factory.list()
    condition = factory.constant(value=True)
    step = factory.call("_+_", factory.result(), factory.list(arguments[-1]))
    step_or_not = _filtered(factory, arguments[1] if len(arguments) == 3 else None, step)
    return _loop(factory, target, (variable, ""), start, condition, step_or_not)


def _filter(factory: MacroFactory, target: Expression, arguments: tuple[Expression, ...]) -> Expression:
    variable = _simple_variable(arguments[0], "argument is not an identifier")
    start = factory.list()
    condition = factory.constant(value=True)
    step = factory.call("_+_", factory.result(), factory.list(arguments[0]))
    return _loop(factory, target, (variable, ""), start, condition, _filtered(factory, arguments[1], step))


def _transform(start: Callable[[MacroFactory], Expression], collect: Callable[[MacroFactory, str, Expression], Expression]) -> Expander:
    def expand(factory: MacroFactory, target: Expression, arguments: tuple[Expression, ...]) -> Expression:
        variables = _two_variables(arguments[0], arguments[1])
        step = collect(factory, variables[0], arguments[-1])
        step = _filtered(factory, arguments[2] if len(arguments) == 4 else None, step)
        return _loop(factory, target, variables, start(factory), factory.constant(value=True), step)

    return expand


_transform_list: Final = _transform(
    lambda factory: factory.list(), lambda factory, _, value: factory.call("_+_", factory.result(), factory.list(value))
)
_transform_map: Final = _transform(
    lambda factory: factory.map(),
    lambda factory, key, value: factory.call("cel.@mapInsert", factory.result(), factory.identifier(key), value),
)
_transform_map_entry: Final = _transform(
    lambda factory: factory.map(), lambda factory, _, value: factory.call("cel.@mapInsert", factory.result(), value)
)


def _optional(name: str, *, flat: bool) -> Expander:
    def expand(factory: MacroFactory, target: Expression, arguments: tuple[Expression, ...]) -> Expression:
        variable = _variable(arguments[0], f"{name}() variable name must be a simple identifier")
        present = factory.call("hasValue", target=target)
        value = Comprehension(
            id=factory.identify(),
            iter_range=factory.list(),
            iter_var=_UNUSED,
            iter_var2="",
            accu_var=variable,
            accu_init=factory.call("value", target=factory.copy(target)),
            loop_condition=factory.constant(value=False),
            loop_step=factory.identifier(variable),
            result=arguments[1],
        )
        mapped = value if flat else factory.call("optional.of", value)
        return factory.call("_?_:_", present, mapped, factory.call("optional.none"))

    return expand


def _sort_by(factory: MacroFactory, target: Expression, arguments: tuple[Expression, ...]) -> Expression:
    if isinstance(target, Constant | MapLiteral):
        raise MacroError(target, "sortBy can only be applied to a list, identifier, comprehension, call or select expression")
    keys = _map(factory, factory.identifier(_SORTED), arguments)
    return Comprehension(
        id=factory.identify(),
        iter_range=factory.list(),
        iter_var=_UNUSED,
        iter_var2="",
        accu_var=_SORTED,
        accu_init=target,
        loop_condition=factory.constant(value=False),
        loop_step=factory.identifier(_SORTED),
        result=factory.call("@sortByAssociatedKeys", keys, target=factory.identifier(_SORTED)),
    )


STANDARD_MACROS: Final[Macros] = {
    ("has", 1, False): _has,
    ("all", 2, True): _one_variable(_all),
    ("exists", 2, True): _one_variable(_exists),
    ("exists_one", 2, True): _one_variable(_exists_one),
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
}
"""Macros of every environment."""

OPTIONAL_MACROS: Final[Macros] = {
    ("optMap", 2, True): _optional("optMap", flat=False),
    ("optFlatMap", 2, True): _optional("optFlatMap", flat=True),
}
"""Macros of optional values."""

LISTS_MACROS: Final[Macros] = {("sortBy", 2, True): _sort_by}
"""Macros of the lists library."""

TWO_VARIABLE_MACROS: Final[Macros] = {
    ("all", 3, True): _with_two_variables(_all),
    ("exists", 3, True): _with_two_variables(_exists),
    ("exists_one", 3, True): _with_two_variables(_exists_one),
    ("existsOne", 3, True): _with_two_variables(_exists_one),
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
}
"""Macros of two-variable comprehensions."""
