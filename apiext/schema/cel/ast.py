"""Checked syntax trees of CEL expressions, macros expanded (cel-go common/ast)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from apiext.schema.cel.types import CelType


class Uint(int):
    """An unsigned 64-bit integer of CEL."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal. Integers, unsigned integers (Uint), doubles and booleans differ by their Python type."""

    id: int
    value: bool | int | Uint | float | str | bytes | None


@dataclass(frozen=True, slots=True)
class Identifier:
    """A variable, or a type's name; see CheckedAst.names."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """A field of an operand; `test_only` is the macro has()."""

    id: int
    operand: Expression
    field: str
    test_only: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator (`_+_`, `_[_]`, `_?_:_`, `@in`, ...); `target` is the receiver of a method."""

    id: int
    function: str
    arguments: tuple[Expression, ...]
    target: Expression | None = None


@dataclass(frozen=True, slots=True)
class ListLiteral:
    """A list; `optional_indices` are the elements with `?`."""

    id: int
    elements: tuple[Expression, ...]
    optional_indices: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MapEntry:
    """An entry of a map."""

    id: int
    key: Expression
    value: Expression
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapLiteral:
    """A map."""

    id: int
    entries: tuple[MapEntry, ...]


@dataclass(frozen=True, slots=True)
class StructField:
    """A field of a struct."""

    id: int
    name: str
    value: Expression
    optional: bool = False


@dataclass(frozen=True, slots=True)
class StructLiteral:
    """An object of a named type: `a.b.C{d: e}`."""

    id: int
    type_name: str
    fields: tuple[StructField, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """A loop: the expansion of every macro over lists and maps. `iter_var2` is empty unless it has two variables."""

    id: int
    iter_range: Expression
    iter_var: str
    iter_var2: str
    accu_var: str
    accu_init: Expression
    loop_condition: Expression
    loop_step: Expression
    result: Expression


Expression = Constant | Identifier | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension


def children(node: Expression) -> Iterator[Expression]:
    """Yield the nodes directly below, in the order of the source."""
    match node:
        case Select():
            yield node.operand
        case Call():
            if node.target is not None:
                yield node.target
            yield from node.arguments
        case ListLiteral():
            yield from node.elements
        case MapLiteral():
            for entry in node.entries:
                yield from (entry.key, entry.value)
        case StructLiteral():
            for field in node.fields:
                yield field.value
        case Comprehension():
            yield from (node.iter_range, node.accu_init, node.loop_condition, node.loop_step, node.result)


def post_order(expression: Expression) -> Iterator[Expression]:
    """Yield all nodes in source order, children before their parent."""
    nodes = []
    stack = [expression]
    while stack:
        node = stack.pop()
        nodes.append(node)
        stack.extend(children(node))
    return reversed(nodes)


@dataclass(frozen=True, slots=True)
class CheckedAst:
    """An expression with the type checker's results by node id."""

    expression: Expression
    types: Mapping[int, CelType]
    overloads: Mapping[int, tuple[str, ...]]
    """Identifiers of a call's possible overloads (cel-go's; several if an argument is dyn)."""
    names: Mapping[int, str]
    """Full names of identifiers, and of selections that are qualified names."""
    positions: Mapping[int, int]
    """Offsets in the source, in code points."""
    source: str
