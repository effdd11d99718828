"""Checks of what changes of a valid object: members that stay the same ones are not checked again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from apiext.schema.keywords import UNCHECKED
from apiext.schema.validation.checker import compile_check
from apiext.schema.validation.keywords.constraint import Check
from apiext.schema.validation.spec import Spec

ChangeCheck = Callable[[dict[str, Any], dict[str, Any]], bool]
"""Whether an object is valid, as Check, given a valid one from which it has its unchanged members."""

_MEMBERWISE: Final = UNCHECKED | {"type", "nullable", "properties", "required"}
"""Keywords of an object whose members are valid independently of each other; rules are evaluated apart."""


def compile_change_check(spec: Spec) -> ChangeCheck | None:
    """Return the check of a node, None unless it is an object whose members are independent. Members are compiled on first use."""
    if spec.types != ("object",) or not spec.raw.keys() <= _MEMBERWISE:
        return None
    required, properties = frozenset(spec.raw.get("required") or ()), spec.properties
    nested: dict[str, ChangeCheck | None] = {}
    whole: dict[str, Check] = {}

    def check(value: dict[str, Any], known: dict[str, Any]) -> bool:
        if required and not value.keys() >= required:
            return False
        for key, member in value.items():
            same = known.get(key, known)
            if same is member or key not in properties:
                continue
            if type(member) is dict and type(same) is dict and same is not known:
                if key not in nested:
                    nested[key] = compile_change_check(properties[key])
                if (change := nested[key]) is not None:
                    if not change(member, same):
                        return False
                    continue
            test = whole.get(key)
            if test is None:
                test = whole[key] = compile_check(properties[key])
            if not test(member):
                return False
        return True

    return check
