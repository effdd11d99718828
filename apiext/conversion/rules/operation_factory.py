"""Chooses the functions of a rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.conversion.rules import model
from apiext.conversion.rules.field_types import part_type
from apiext.conversion.rules.operations.copy import compile_copy
from apiext.conversion.rules.operations.default import compile_default
from apiext.conversion.rules.operations.drop import compile_drop
from apiext.conversion.rules.operations.enum_map import compile_enum
from apiext.conversion.rules.operations.list_to_map import compile_list_to_map, compile_map_to_list
from apiext.conversion.rules.operations.move import compile_move
from apiext.conversion.rules.operations.split import compile_join, compile_split
from apiext.conversion.rules.operations.wrap import compile_unwrap, compile_wrap

if TYPE_CHECKING:
    from apiext.conversion.rules.field_types import FieldTypes
    from apiext.conversion.rules.operations.operation import Reversible


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
