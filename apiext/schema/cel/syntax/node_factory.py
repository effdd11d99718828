"""Creation of syntax nodes with new identifiers (cel-go parser/helper.go)."""

from __future__ import annotations

from dataclasses import replace

from apiext.base.meta.limits import MAX_CEL_NODES
from apiext.schema.cel.ast import (
    Call,
    Comprehension,
    Constant,
    Expression,
    Identifier,
    ListLiteral,
    MapEntry,
    MapLiteral,
    Select,
    StructField,
    StructLiteral,
)
from apiext.schema.cel.syntax.source import Issue

RESULT_VARIABLE = "@result"
"""The variable for a macro's result."""


class TooManyNodesError(Exception):
    """The syntax tree of an expression is too large."""


class NodeFactory:
    """Numbers the nodes of one expression and remembers their places."""

    def __init__(self) -> None:
        """Start with number 1."""
        self.positions: dict[int, int] = {}
        self.issues: list[Issue] = []
        self._next = 1

    def identify(self, offset: int) -> int:
        """Return the identifier of a new node.

        Raises:
            TooManyNodesError: The limit is reached.

        """
        identifier = self._next
        if identifier > MAX_CEL_NODES:
            raise TooManyNodesError("expression is too large after the expansion of its macros")
        self._next += 1
        self.positions[identifier] = offset
        return identifier

    def report(self, offset: int, message: str) -> Constant:
        """Record an error. Return a placeholder node."""
        self.issues.append(Issue(offset, message))
        return Constant(self.identify(offset), None)


class MacroFactory:
    """Creates the nodes of a macro's expansion, all at the macro's position."""

    def __init__(self, nodes: NodeFactory, offset: int) -> None:
        """Create nodes at an offset."""
        self._nodes = nodes
        self._offset = offset

    def identify(self) -> int:
        """Return the identifier of a new node."""
        return self._nodes.identify(self._offset)

    def constant(self, value: int) -> Constant:
        """Return a literal of an integer or a boolean."""
        return Constant(self.identify(), value)

    def identifier(self, name: str) -> Identifier:
        """Return a variable."""
        return Identifier(self.identify(), name)

    def result(self) -> Identifier:
        """Return the variable that collects the result."""
        return self.identifier(RESULT_VARIABLE)

    def call(self, function: str, *arguments: Expression, target: Expression | None = None) -> Call:
        """Return a call of a function, or of a method of `target`."""
        return Call(self.identify(), function, arguments, target)

    def list(self, *elements: Expression) -> ListLiteral:
        """Return a list."""
        return ListLiteral(self.identify(), elements)

    def map(self) -> MapLiteral:
        """Return an empty map."""
        return MapLiteral(self.identify(), ())

    def copy(self, node: Expression) -> Expression:
        """Return a copy of a tree with new identifiers at the same positions."""
        nodes = self._nodes
        new = nodes.identify(nodes.positions[node.id])
        match node:
            case Select():
                return replace(node, id=new, operand=self.copy(node.operand))
            case Call():
                arguments = tuple([self.copy(argument) for argument in node.arguments])
                return replace(node, id=new, arguments=arguments, target=None if node.target is None else self.copy(node.target))
            case ListLiteral():
                return replace(node, id=new, elements=tuple([self.copy(element) for element in node.elements]))
            case MapLiteral():
                return replace(node, id=new, entries=tuple([self._copy_entry(entry) for entry in node.entries]))
            case StructLiteral():
                return replace(node, id=new, fields=tuple([self._copy_field(field) for field in node.fields]))
            case Comprehension():
                return replace(
                    node,
                    id=new,
                    iter_range=self.copy(node.iter_range),
                    accu_init=self.copy(node.accu_init),
                    loop_condition=self.copy(node.loop_condition),
                    loop_step=self.copy(node.loop_step),
                    result=self.copy(node.result),
                )
            case _:
                return replace(node, id=new)

    def _copy_entry(self, entry: MapEntry) -> MapEntry:
        return replace(entry, id=self.identify(), key=self.copy(entry.key), value=self.copy(entry.value))

    def _copy_field(self, field: StructField) -> StructField:
        return replace(field, id=self.identify(), value=self.copy(field.value))
