"""Estimates of the functions that Kubernetes adds to CEL (apiserver pkg/cel/library/cost.go, EstimateCallCost)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from apiext.schema.cel.ast import Constant, Uint
from apiext.schema.cel.cost.estimate import MAX_UINT64, ONE, ZERO, Estimate, exactly
from apiext.schema.cel.cost.extensions import LIST_COST
from apiext.schema.cel.cost.operand import CallEstimate, Invocation, Operand
from apiext.schema.cel.cost.standard import STRING_FACTOR, Estimator, match_cost

_AUTHORIZATION_CHECK: Final = exactly(350_000)
_STRUCT_COST: Final = exactly(40)
_ADDRESS: Final = Estimate(4, 16)
"""Bytes of an IP address."""
_LONGEST_FORMAT: Final = 64
"""Characters of the name of a format."""
_FORMAT_PATTERN_COST: Final = 32.0
"""Cost units of the regular expression of a format for each unit of the text."""


def _fixed(cost: Estimate) -> Estimator:
    return lambda _: CallEstimate(cost)


def _parse(call: Invocation) -> CallEstimate:
    return CallEstimate(call.declared_size(call.arguments[0]).scaled(STRING_FACTOR))


def _selector(call: Invocation) -> CallEstimate:
    length = call.declared_size(call.arguments[0])
    requirements = length.scaled(0.5).scaled(LIST_COST.max + _STRUCT_COST.max)
    return CallEstimate(LIST_COST.plus(length.scaled(STRING_FACTOR)).plus(requirements))


def _items(list_: Operand) -> Operand | None:
    """Return an operand that stands for the items of a list, None if the type of the items is unknown."""
    if not list_.type.parameters:
        return None
    path = None if list_.path is None else list_.path.copy().then("@items")
    return Operand(None, list_.type.parameters[0], path, None)


def _list_traversal(call: Invocation) -> CallEstimate | None:
    target = call.target
    if target is None:
        return None
    size, items = call.declared_size(target), _items(target)
    if items is None and call.function != "includes":
        return CallEstimate(size.scaled(STRING_FACTOR))  # indexOf and lastIndexOf of a string
    cost = ONE
    if items is not None and items.type.name in {"string", "bytes"}:
        cost = cost.plus(call.declared_size(items).scaled(STRING_FACTOR))
    return CallEstimate(size.times(cost))


def _url(call: Invocation) -> CallEstimate:
    size = call.declared_size(call.arguments[0])
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _transformation(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    size = call.declared_size(call.target)
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _replace(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    size, old, new = map(call.declared_size, (call.target, *call.arguments[:2]))
    longest = _replaced(size.max, old.min, new.max, can_replace=new.max > old.min)
    shortest = _replaced(size.min, old.max, new.min, can_replace=new.min < old.max)
    return CallEstimate(size.scaled(2 * STRING_FACTOR), Estimate(shortest, longest))


def _replaced(size: int, old: int, new: int, *, can_replace: bool) -> int:
    """Return the size of a string after all of it is replaced, or without a replacement if the other bound is further away."""
    if not old:  # the replacement surrounds every character
        return min(min(size + 1, MAX_UINT64) * new + size, MAX_UINT64)
    if not can_replace:
        return size
    return min(min(math.ceil(float(size) / float(old)), MAX_UINT64) * new, MAX_UINT64)


def _split(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    size = call.declared_size(call.target)
    most = size.max
    if len(call.arguments) > 1 and isinstance(literal := call.arguments[1].expression, Constant):
        limit = literal.value
        if isinstance(limit, int) and not isinstance(limit, bool | Uint):
            most = limit & MAX_UINT64
    return CallEstimate(size.scaled(2 * STRING_FACTOR), Estimate(0, most))


def _join(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    count, items = call.declared_size(call.target), _items(call.target)
    size = ZERO if items is None else count.times(call.declared_size(items))
    if call.arguments:
        separators = Estimate(max(count.min - 1, 0), max(count.max - 1, 0))
        size = size.plus(call.declared_size(call.arguments[0]).times(separators))
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def _find(call: Invocation) -> CallEstimate | None:
    if call.target is None:
        return None
    size = call.declared_size(call.target)
    return CallEstimate(match_cost(size, call.declared_size(call.arguments[0])), Estimate(0, size.max))


def _ip(call: Invocation) -> CallEstimate:
    return CallEstimate(ONE) if call.overload == "cidr_ip" else _parse(call)


def _is_canonical(call: Invocation) -> CallEstimate:
    return CallEstimate(call.declared_size(call.arguments[0]).scaled(2 * STRING_FACTOR))


def _contains_ip(call: Invocation) -> CallEstimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR)
    return CallEstimate(cost.plus(_parse(call).cost) if call.overload == "cidr_contains_ip_string" else cost)


def _contains_cidr(call: Invocation) -> CallEstimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(STRING_FACTOR).plus(_ADDRESS.scaled(STRING_FACTOR)).plus(ONE)
    return CallEstimate(cost.plus(_parse(call).cost) if call.overload == "cidr_contains_cidr_string" else cost)


def _validate(call: Invocation) -> CallEstimate:
    return CallEstimate(_parse(call).cost.scaled(_FORMAT_PATTERN_COST))


def _equals(call: Invocation) -> CallEstimate | None:
    left, right = call.arguments
    if left.type != right.type:
        return None
    name = left.type.name
    if name in _CHEAP_TO_COMPARE:
        return CallEstimate(ONE)
    if name == "kubernetes.NamedFormat":
        return CallEstimate(Estimate(1, _LONGEST_FORMAT).scaled(STRING_FACTOR))
    if name == "kubernetes.URL":
        size = ONE if right.known_size is None else right.known_size
        return CallEstimate(Estimate(1, size.max).scaled(STRING_FACTOR))
    return None


_CHEAP_TO_COMPARE: Final = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}).union(
    f"kubernetes.authorization.{name}" for name in ("Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision")
)
_FUNCTIONS: Final[Mapping[Estimator, str]] = {
    _fixed(_AUTHORIZATION_CHECK): "check",
    _selector: "fieldSelector labelSelector",
    _list_traversal: "isSorted sum max min indexOf lastIndexOf includes",
    _url: "url jsonpatch.escapeKey",
    _transformation: "lowerAscii upperAscii substring trim",
    _replace: "replace",
    _split: "split",
    _join: "join",
    _find: "find findAll",
    _parse: "cidr isIP isCIDR quantity isQuantity semver isSemver",
    _ip: "ip",
    _is_canonical: "ip.isCanonical",
    _contains_ip: "containsIP",
    _contains_cidr: "containsCIDR",
    _validate: "validate",
    _equals: "_==_",
    _fixed(ONE): (
        "serviceAccount path group resource subresource namespace name allowed reason error errored"
        " masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast"
        " format.named sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch"
        " getScheme getHostname getHost getPort getEscapedPath getQuery"
    ),
}
KUBERNETES_ESTIMATORS: Final[Mapping[str, Estimator]] = {
    name: estimator for estimator, names in _FUNCTIONS.items() for name in names.split()
}
"""Estimates by function: all overloads of a name, whatever library declares them, cost the same."""
