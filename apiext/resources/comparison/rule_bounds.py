"""What the limits of a schema say about the result of a CEL expression: sizes of lists, sums of them, and comparisons with numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from math import inf
from operator import ge, gt, le, lt
from types import MappingProxyType
from typing import Final, NamedTuple

from apiext.schema.cel.ast import Call, Constant, Expression, Identifier, Select
from apiext.schema.model import Props

_Range = tuple[float, float]
_Guards = frozenset[str]
"""The fields and items that are there, where an expression is evaluated."""
_NO_SCHEMA: Final[Props] = {}
_MOST_INDEX: Final = 100


class _Known(NamedTuple):
    """What is known of the result of an expression."""

    values: _Range | frozenset[bool] | None
    """The least and the greatest integer, or the possible truths; None if it is another value, or nothing is known of it."""
    is_sure: bool
    """Whether it is surely no error."""


class _Place(NamedTuple):
    """A value of objects, which both schemas know."""

    path: str
    old: Props
    new: Props
    is_there: bool


_UNKNOWN: Final = _Known(None, is_sure=False)
_BOTH: Final = frozenset({True, False})
_COMPARISONS: Final[Mapping[str, Callable[[float, float], bool]]] = MappingProxyType({"_<_": lt, "_<=_": le, "_>_": gt, "_>=_": ge})
_LOGIC: Final[Mapping[str, Callable[[bool, bool], bool]]] = MappingProxyType(
    {"_&&_": lambda one, other: one and other, "_||_": lambda one, other: one or other}
)


def holds_for_all(expression: Expression, old: Props, new: Props) -> bool:
    """Report whether an expression about `self` surely holds for all objects that a schema accepts, as a newer one reads them."""
    try:
        return _Reader(old, new).read(expression, frozenset()) == _Known(frozenset({True}), is_sure=True)
    except RecursionError:
        return False


class _Reader:
    """Reads expressions about values of two schemas: the limits of the old one hold, and the defaults of the new one are set."""

    def __init__(self, old: Props, new: Props) -> None:
        self._schemas = old, new

    def read(self, node: Expression, guards: _Guards) -> _Known:
        """Return what is known of the result of an expression."""
        match node:
            case Constant(value=bool() as value):
                return _Known(frozenset({value}), is_sure=True)
            case Constant(value=int() as value):
                return _Known((value, value), is_sure=True)
            case Select(operand=operand, test_only=True):
                place = self._place(operand, guards)
                return _Known(_BOTH, is_sure=place is not None and place.is_there)
            case Call(function="size"):
                return self._size(node, guards)
            case Call(function="_?_:_", arguments=(condition, one, other)):
                return self._choice(condition, one, other, guards)
            case Call(function=name, arguments=(one, other)) if name in _LOGIC:
                # of two operands the second one does not matter, not even its error, unless the first one leaves it to it
                more = guards | self._guards(one, is_true=name == "_&&_", guards=guards)
                return _combined(_LOGIC[name], self.read(one, guards), self.read(other, more))
            case Call(function="!_", arguments=(one,)):
                known = self.read(one, guards)
                return (
                    _Known(frozenset(not value for value in known.values), known.is_sure)
                    if isinstance(known.values, frozenset)
                    else _UNKNOWN
                )
            case Call(function="_+_", arguments=(one, other)):
                return _sum(self.read(one, guards), self.read(other, guards))
            case Call(function=name, arguments=(one, other)) if name in _COMPARISONS:
                return _compared(_COMPARISONS[name], self.read(one, guards), self.read(other, guards))
        return _UNKNOWN

    def _place(self, node: Expression, guards: _Guards) -> _Place | None:
        match node:
            case Identifier(name="self"):
                return _Place("self", *self._schemas, is_there=True)
            case Select(operand=operand, field=name, test_only=False) if (above := self._place(operand, guards)) is not None:
                old, new = ((props.get("properties") or _NO_SCHEMA).get(name) for props in (above.old, above.new))
                if old is None or new is None:
                    return None
                path = f"{above.path}.{name}"
                is_set = name in (above.old.get("required") or ()) or new.get("default") is not None or path in guards
                return _Place(path, old, new, is_there=above.is_there and is_set and not old.get("nullable"))
            case Call(function="_[_]", arguments=(operand, Constant(value=int() as index))) if (
                above := self._place(operand, guards)
            ) is not None:
                old, new = (props.get("items") for props in (above.old, above.new))
                if not isinstance(old, Mapping) or not isinstance(new, Mapping):
                    return None
                path = f"{above.path}[{index}]"
                is_set = 0 <= index < (above.old.get("minItems") or 0) or path in guards
                return _Place(path, old, new, is_there=above.is_there and is_set and not old.get("nullable"))
        return None

    def _size(self, node: Call, guards: _Guards) -> _Known:
        of = node.target if node.target is not None else node.arguments[0]
        place = self._place(of, guards)
        if place is None or place.old.get("type") != "array":
            return _UNKNOWN
        default = place.new.get("default")
        sizes = [len(default)] if isinstance(default, list) else []
        least, most = place.old.get("minItems") or 0, place.old.get("maxItems", inf)
        return _Known((min([least, *sizes]), max([most, *sizes])), place.is_there)

    def _choice(self, condition: Expression, one: Expression, other: Expression, guards: _Guards) -> _Known:
        known = self.read(condition, guards)
        if not isinstance(known.values, frozenset):
            return _UNKNOWN
        found = [
            self.read(branch, guards | self._guards(condition, is_true=is_true, guards=guards))
            for is_true, branch in ((True, one), (False, other))
            if is_true in known.values
        ]
        is_sure = known.is_sure and all(each.is_sure for each in found)
        truths = [each.values for each in found if isinstance(each.values, frozenset)]
        if len(truths) == len(found):
            return _Known(frozenset[bool]().union(*truths), is_sure)
        ranges = [each.values for each in found if isinstance(each.values, tuple)]
        if len(ranges) == len(found):
            return _Known((min(least for least, _ in ranges), max(most for _, most in ranges)), is_sure)
        return _UNKNOWN

    def _guards(self, condition: Expression, *, is_true: bool, guards: _Guards) -> _Guards:
        """Return the fields and items that exist wherever a condition has a result."""
        match condition:
            case Select(operand=operand, field=name, test_only=True) if is_true:
                place = self._place(operand, guards)
                return frozenset({f"{place.path}.{name}"}) if place is not None else frozenset()
            case Call(function="_>_", arguments=(Call(function="size") as size, Constant(value=int() as index))) if is_true:
                place = self._place(size.target if size.target is not None else size.arguments[0], guards)
                return frozenset(f"{place.path}[{number}]" for number in range(min(index, _MOST_INDEX) + 1)) if place else frozenset()
            case Call(function="!_", arguments=(one,)):
                return self._guards(one, is_true=not is_true, guards=guards)
            case Call(function=name, arguments=(one, other)) if name == ("_&&_" if is_true else "_||_"):
                more = self._guards(one, is_true=is_true, guards=guards)
                return more | self._guards(other, is_true=is_true, guards=guards | more)
        return frozenset()


def _combined(operator: Callable[[bool, bool], bool], one: _Known, other: _Known) -> _Known:
    if not isinstance(one.values, frozenset) or not isinstance(other.values, frozenset):
        return _UNKNOWN
    return _Known(frozenset(operator(*pair) for pair in product(one.values, other.values)), one.is_sure and other.is_sure)


def _sum(one: _Known, other: _Known) -> _Known:
    if not isinstance(one.values, tuple) or not isinstance(other.values, tuple):
        return _UNKNOWN
    return _Known((one.values[0] + other.values[0], one.values[1] + other.values[1]), one.is_sure and other.is_sure)


def _compared(operator: Callable[[float, float], bool], one: _Known, other: _Known) -> _Known:
    if not isinstance(one.values, tuple) or not isinstance(other.values, tuple):
        return _UNKNOWN
    results = frozenset(operator(*pair) for pair in product(one.values, other.values))
    return _Known(results, one.is_sure and other.is_sure)
