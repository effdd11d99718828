"""What calls cost at run time (cel-go interpreter/runtimecost.go, costCall)."""

from __future__ import annotations

from typing import Final

from apiext.schema.cel.compiler.code_value import PRIMITIVES, CodeValue
from apiext.schema.cel.compiler.compiler import Compiler
from apiext.schema.cel.libraries.costs import actual_size, pattern_cost, string_cost
from apiext.schema.cel.libraries.library import Cost, Overload
from apiext.schema.cel.types import BYTES, STRING
from apiext.schema.cel.values.run_time_values import OpaqueValue, OptionalValue


def _size(value: object) -> int:
    return actual_size(value.value if isinstance(value, OptionalValue) and value.present else value)


def _equality_cost(left: object, right: object) -> int:
    """Return the cost of `==`. That of `!=` depends on the sizes of opaque values too."""
    return 1 if isinstance(left, OpaqueValue) else _order_cost(left, right)


def _order_cost(left: object, right: object) -> int:
    return string_cost(min(_size(left), _size(right)))


def _first_cost(text: object, *_: object) -> int:
    return string_cost(_size(text))


def _second_cost(_: object, text: object) -> int:
    return string_cost(_size(text))


def _sum_cost(left: object, right: object) -> int:
    return string_cost(_size(left) + _size(right))


def _contains_cost(text: object, part: object) -> int:
    return _first_cost(text) * _first_cost(part)


def _matches_cost(text: object, pattern: object) -> int:
    return pattern_cost(_size(text), _size(pattern))


def _members_cost(_: object, members: object) -> int:
    return _size(members)


class _Traversals(dict[int, int]):
    """The costs of visiting characters, by their number."""

    def __missing__(self, length: int) -> int:
        return string_cost(length)


_TRAVERSALS: Final = _Traversals({length: string_cost(length) for length in range(256)})
"""A dict, since the generated code computes this cost most often."""

_COSTS: Final = {
    "starts_with_string": _second_cost,
    "ends_with_string": _second_cost,
    "string_to_bytes": _first_cost,
    "bytes_to_string": _first_cost,
    "in_list": _members_cost,
    **{f"{name}_{kind}": _order_cost for name in ("less", "less_equals", "greater", "greater_equals") for kind in ("string", "bytes")},
    "add_string": _sum_cost,
    "add_bytes": _sum_cost,
    "contains_string": _contains_cost,
    "matches": _matches_cost,
    "matches_string": _matches_cost,
}
"""Costs of standard overloads; others cost 1."""


def charge_equality(compiler: Compiler, left: CodeValue, right: CodeValue, *, negated: bool) -> None:
    """Charge `==` or `!=`. The size of a scalar is 1; only an empty text or container is smaller, and costs nothing."""
    scalar = PRIMITIVES - {STRING, BYTES}
    if (left.type in scalar or right.type in scalar) and not (left.is_dyn or right.is_dyn):
        compiler.writer.charge(1)
    elif "''" in {left.code, right.code}:
        return
    elif left.type == right.type == STRING:
        _charge_result(compiler, f"{compiler.bind(_TRAVERSALS)}[min(len({left.code}), len({right.code}))]")
    else:
        _charge_result(compiler, f"{compiler.bind(_order_cost if negated else _equality_cost)}({left.code}, {right.code})")


def _charge_result(compiler: Compiler, code: str) -> None:
    """Charge what the evaluation computes; if it fails before, the call has cost 1."""
    compiler.writer.charge(1)
    compiler.writer.charge_result(f"{code} - 1")


def charge_call(compiler: Compiler, overload: str, arguments: list[CodeValue]) -> None:
    """Charge a call of a standard function; `overload` is empty if the checker left the choice to the evaluation."""
    if overload in _COSTS:
        _charge_result(compiler, f"{compiler.bind(_COSTS[overload])}({', '.join(argument.code for argument in arguments)})")
    else:
        compiler.writer.charge(1)


def library_cost(library: Overload | None, *, determined: bool) -> Cost | None:
    """Return the cost of a call of a library's function, None for 1."""
    if library is None:
        return None
    return library.cost if determined else library.undetermined_cost
