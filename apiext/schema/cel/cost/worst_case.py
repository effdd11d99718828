"""Upper bounds of the costs that an evaluation counts: below a limit, it need not count them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from apiext.base.meta.limits import MAX_BODY_BYTES
from apiext.schema.cel.ast import CheckedAst
from apiext.schema.cel.cost.estimate import ONE, UNKNOWN, ZERO, Estimate
from apiext.schema.cel.cost.estimator import CostEstimator
from apiext.schema.cel.cost.operand import CallEstimate, DeclarationPath, Invocation, SizeOf
from apiext.schema.cel.declarations import Declaration

_VARIABLES: Final = ("self", "oldSelf")
_MAX_KEY: Final = Estimate(0, MAX_BODY_BYTES)
_MAX_FIELDS: Final = Estimate(0, MAX_BODY_BYTES // 6)
"""Fields of an object; the shortest in JSON is `"a":0,`."""
_OPERATORS: Final = "_==_ _!=_ _<_ _<=_ _>_ _>=_ _&&_ _||_ !_ _?_:_ _+_ _-_ _*_ _/_ _%_ -_ _[_] @in @not_strictly_false"
_TEXTS: Final = "size startsWith endsWith contains matches find lowerAscii upperAscii trim substring charAt"
_CONVERSIONS: Final = "type int uint double string bytes bool duration timestamp isIP ip isCIDR cidr isQuantity quantity"
_TIMES: Final = "getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear getHours getMinutes getSeconds getMilliseconds"
_BOUNDED_FUNCTIONS: Final = frozenset(f"{_OPERATORS} {_TEXTS} {_CONVERSIONS} {_TIMES}".split())
"""Functions whose estimates, from true sizes, are never below what a call counts. Others, such as `flatten`, count more than estimated."""


KEYS: Final = "@keys"
_ELEMENTS: Final = ("@items", "@values")


def declared_sizes(root: Declaration) -> SizeOf:
    """Return the sizes that the reference estimates with, for variables that all have the declaration `root`.

    Keys of maps, objects and numbers have the size 0, and identifiers of other things count as variables.
    """

    def size_of(path: DeclarationPath) -> Estimate | None:
        *way, last = path.steps
        if last == KEYS and way:
            container = declaration_at(root, way[1:])
            return ZERO if container is not None and container.kind.name == "map" else None
        declaration = declaration_at(root, path.steps[1:])
        return None if declaration is None else Estimate(0, declaration.max_elements)

    return size_of


def declaration_at(root: Declaration, steps: Sequence[str]) -> Declaration | None:
    """Return the declaration that some steps lead to, None if there is none."""
    declaration: Declaration | None = root
    for step in steps:
        if declaration is None:
            return None
        if step in _ELEMENTS:
            declaration = declaration.element
        else:
            field = declaration.fields.get(step)
            declaration = None if field is None else field.declaration
    return declaration


class _Way(DeclarationPath):
    """A path that shares no memory with others."""

    __slots__ = ()

    def then(self, step: str) -> _Way:
        return _Way([*self.steps, step], len(self.steps) + 1)


_NOWHERE: Final = _Way([], 0)


class _WorstCaseEstimator(CostEstimator):
    no_path = _NOWHERE
    free_selection = ONE

    def estimate_call(self, call: Invocation) -> CallEstimate:
        if call.function not in _BOUNDED_FUNCTIONS:
            return CallEstimate(UNKNOWN)
        estimate = super().estimate_call(call)
        # An argument that cannot be evaluated has the size 1, whatever the schema says.
        return replace(estimate, cost=estimate.cost.plus(ONE))


def worst_case(checked: CheckedAst, declaration: Declaration) -> int:
    """Return what an evaluation counts at most if all values are within the schema's limits, in cost units; MAX_UINT64 if unknown.

    The static estimate is no such bound: it takes keys of maps, objects and numbers for empty, and some values for other ones.
    """
    return _WorstCaseEstimator(checked, _true_sizes(declaration)).run().max


def _true_sizes(root: Declaration) -> SizeOf:
    def size_of(path: DeclarationPath) -> Estimate | None:
        variable, *steps = path.steps
        if variable not in _VARIABLES:
            return None
        if steps and steps[-1] == KEYS:
            return _MAX_KEY
        declaration = declaration_at(root, steps)
        if declaration is None:
            return None
        # null, numbers and times count as one
        return _MAX_FIELDS if declaration.kind.name == "object" else Estimate(0, max(declaration.max_elements, 1))

    return size_of
