"""What a CEL expression decides, as a table: equal for all expressions that only say the same in other words.

An operand of `&&`, `||`, `!`, `==` or `?:` that is no such expression itself is an atom: true, false or an error. As in CEL, an error does
not count if the other operand alone decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any, Final

from apiext.schema.cel.ast import Call, Comprehension, Constant, Expression, Identifier, Select, post_order

Value = bool | None
"""None is an error."""
_VALUES: Final = (True, False, None)
_MOST_ATOMS: Final = 5
_SELF: Final = "self"


@dataclass(frozen=True, slots=True)
class TruthTable:
    """The results of an expression by the values of its atoms."""

    atoms: tuple[int, ...]
    """Numbers of expressions, in order."""
    results: tuple[Value, ...]
    """In the order of `itertools.product`."""

    def result(self, given: Mapping[int, Value]) -> Value:
        """Return the result for values of atoms."""
        place = 0
        for atom in self.atoms:
            place = place * len(_VALUES) + _VALUES.index(given[atom])
        return self.results[place]


def atom(number: int) -> TruthTable:
    """Return what an expression decides of which only its number is known."""
    return TruthTable((number,), _VALUES)


def opposite(decided: TruthTable) -> TruthTable:
    """Return what the negation of an expression decides."""
    return TruthTable(decided.atoms, tuple(map(_not, decided.results)))


def decision(node: Expression, operands: Mapping[int, TruthTable]) -> TruthTable | None:
    """Return what an expression decides, None if that is no table: it has other operators, or too many atoms.

    Args:
        node: the expression.
        operands: what its operands decide, by their `id()`.
    """
    if isinstance(node, Constant) and isinstance(node.value, bool):
        return TruthTable((), (node.value,))
    if not isinstance(node, Call) or node.function not in _OPERATORS:
        return None
    if node.function in _EQUALITIES and not all(map(_is_boolean, node.arguments)):
        return None
    if node.function == "_?_:_" and not all(map(_is_boolean, node.arguments[1:])):
        return None
    found = [operands[id(each)] for each in node.arguments]
    atoms = tuple(sorted({number for each in found for number in each.atoms}))
    if len(atoms) > _MOST_ATOMS:
        return None
    operator = _OPERATORS[node.function]
    givens = (dict(zip(atoms, values, strict=True)) for values in product(_VALUES, repeat=len(atoms)))
    return TruthTable(atoms, tuple(operator(*(each.result(given) for each in found)) for given in givens))


def holds_without(expression: Expression, fields: Mapping[str, Any]) -> bool:
    """Report whether an expression surely holds for objects that lack some fields of `self`.

    Args:
        expression: the expression.
        fields: the fields with their defaults, which the server sets; None for a field without one.
    """
    tables: dict[int, TruthTable] = {}
    for number, node in enumerate(post_order(expression)):
        if isinstance(node, Comprehension) and _SELF in (node.iter_var, node.iter_var2):
            return False
        known = _known(node, fields)
        tables[id(node)] = (decision(node, tables) or atom(number)) if known is None else TruthTable((), (known,))
    return all(tables[id(expression)].results)


def _known(node: Expression, fields: Mapping[str, Any]) -> Value:
    """Return the result of an expression about a field that no object has, None if it has none or depends on the object."""
    match node:
        case Select(operand=Identifier(name="self"), field=name, test_only=True) if name in fields:
            return fields[name] is not None
        case Call(
            function="_==_" | "_!=_",
            arguments=(Select(operand=Identifier(name="self"), field=name, test_only=False), Constant(value=value)),
        ):
            default = fields.get(name)
            return (value == default) == (node.function == "_==_") if type(default) is type(value) and default is not None else None
    return None


def _is_boolean(node: Expression) -> bool:
    """Report whether an expression surely has a result of type bool, if it is valid."""
    match node:
        case Constant():
            return isinstance(node.value, bool)
        case Select():
            return node.test_only
        case Call(function="_?_:_"):
            return all(map(_is_boolean, node.arguments[1:]))
        case Call():
            return node.function in _BOOLEAN
    return False


def _both(one: Value, other: Value) -> Value:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _not(one: Value) -> Value:
    return None if one is None else not one


def _either(one: Value, other: Value) -> Value:
    return _not(_both(_not(one), _not(other)))


def _equal(one: Value, other: Value) -> Value:
    return None if one is None or other is None else one == other


def _choice(condition: Value, one: Value, other: Value) -> Value:
    return None if condition is None else one if condition else other


_EQUALITIES: Final = frozenset({"_==_", "_!=_"})
_OPERATORS: Final[Mapping[str, Callable[..., Value]]] = MappingProxyType(
    {
        "_&&_": _both,
        "_||_": _either,
        "!_": _not,
        "_==_": _equal,
        "_!=_": lambda one, other: _not(_equal(one, other)),
        "_?_:_": _choice,
    }
)
_BOOLEAN: Final = frozenset({"_&&_", "_||_", "!_", "_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "@in"})
