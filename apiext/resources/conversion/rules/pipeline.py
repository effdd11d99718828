"""The rules of a spoke, one after the other, in either direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.base.meta.field import Path
from apiext.resources.conversion.rules import model
from apiext.resources.conversion.rules.errors import InvalidConversionError
from apiext.resources.conversion.rules.field_types import FieldTypes, part_type
from apiext.resources.conversion.rules.inverse import MovedPaths
from apiext.resources.conversion.rules.metadata_texts import metadata_paths
from apiext.resources.conversion.rules.model import Expressions
from apiext.resources.conversion.rules.operations.copy import compile_copy
from apiext.resources.conversion.rules.operations.default import compile_default
from apiext.resources.conversion.rules.operations.drop import compile_drop
from apiext.resources.conversion.rules.operations.enum_map import compile_enum
from apiext.resources.conversion.rules.operations.list_to_map import compile_list_to_map, compile_map_to_list
from apiext.resources.conversion.rules.operations.move import compile_move
from apiext.resources.conversion.rules.operations.split import compile_join, compile_split
from apiext.resources.conversion.rules.operations.wrap import compile_unwrap, compile_wrap
from apiext.resources.conversion.rules.paths import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.resources.conversion.rules.expressions.compile import CompiledAssignment
    from apiext.resources.conversion.rules.model import FieldRule, Rule
    from apiext.resources.conversion.rules.operations.operation import Reversible, Step
    from apiext.schema.model import Structural


def operation(rule: model.FieldRule, types: FieldTypes) -> Reversible:
    """Return the functions of a rule, for the types of its fields."""
    match rule:
        case model.Move():
            return compile_move(rule)
        case model.Copy():
            return compile_copy(rule)
        case model.Default():
            other = types.in_spoke(rule.path) if rule.side is model.Side.HUB else types.in_hub(rule.path)
            return compile_default(rule, shared=other is not None)
        case model.EnumMap():
            return compile_enum(rule)
        case model.Wrap():
            return compile_wrap(rule)
        case model.Unwrap():
            return compile_unwrap(rule)
        case model.Split():
            return compile_split(rule, part_type(types.in_spoke(rule.source)), [part_type(types.in_hub(path)) for path in rule.targets])
        case model.Join():
            return compile_join(rule, part_type(types.in_hub(rule.target)), [part_type(types.in_spoke(path)) for path in rule.sources])
        case model.ListToMap():
            return compile_list_to_map(rule)
        case model.MapToList():
            return compile_map_to_list(rule)
        case model.Drop():
            return compile_drop(rule)


class Pipeline:
    """The functions of the rules of a spoke."""

    def __init__(self, rules: Sequence[Rule], place: int, spoke: Structural, hub: Structural) -> None:
        """Create the functions for the schemas of both versions. `place` is that of the spoke in its document."""
        self._path = Path("spec", "spokes").index(place).child("rules")
        self._spoke = spoke
        self._hub = hub
        moves = MovedPaths(rules)
        self._rules = [(rule, FieldTypes(spoke, hub, moves, position)) for position, rule in enumerate(rules)]
        self._known: dict[int, Reversible] = {}
        self.metadata = metadata_paths(rules)
        """The labels and annotations that rules may set."""

    @property
    def has_expressions(self) -> bool:
        """Return whether a rule has expressions."""
        return any(isinstance(rule, Expressions) for rule, _ in self._rules)

    def steps(self, *, to_hub: bool) -> list[Step]:
        """Return the steps of all rules but expressions."""
        ordered = self._ordered(to_hub=to_hub)
        return [self._step(position, rule, to_hub=to_hub) for position, rule in ordered if not isinstance(rule, Expressions)]

    def mixed_steps(self, *, to_hub: bool) -> list[Step | CompiledAssignment]:
        """Return the steps of all rules, with expressions in their places.

        Raises:
            InvalidConversionError: expressions are invalid, or cost too much.
        """
        from apiext.resources.conversion.rules.expressions.compile import AssignmentCompiler

        compiler = AssignmentCompiler(self._spoke if to_hub else self._hub)
        found: list[Step | CompiledAssignment] = []
        for position, rule in self._ordered(to_hub=to_hub):
            if not isinstance(rule, Expressions):
                found.append(self._step(position, rule, to_hub=to_hub))
                continue
            at = self._path.index(position).child("expression", "toHub" if to_hub else "toSpoke")
            types = self._rules[position][1]
            for index, assignment in enumerate(rule.to_hub if to_hub else rule.to_spoke):
                target = types.in_hub(assignment.path) if to_hub else types.in_spoke(assignment.path)
                compiled = compiler.compile(assignment, path_text(assignment.path), target, at.index(index).child("value"))
                if compiled is not None:
                    found.append(compiled)
        if compiler.errors:
            raise InvalidConversionError(compiler.errors)
        return found

    def _ordered(self, *, to_hub: bool) -> Iterator[tuple[int, Rule]]:
        numbered = list(enumerate(rule for rule, _ in self._rules))
        return iter(numbered if to_hub else reversed(numbered))

    def _step(self, position: int, rule: FieldRule, *, to_hub: bool) -> Step:
        if position not in self._known:
            self._known[position] = operation(rule, self._rules[position][1])
        found = self._known[position]
        return found.forth if to_hub else found.back
