"""Assignability of types and inference of type variables (cel-go checker/types.go, mapping.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from apiext.schema.cel.types import DYN, ERROR, NULL, CelType

_VARIABLE_PREFIX: Final = "_var"
_NOT_NULLABLE: Final = frozenset({"bool", "int", "uint", "double", "string", "bytes", "list", "map", "type", "null_type"})
_WILDCARDS: Final = frozenset({DYN.name, ERROR.name})
_DISPLAYED: Final = {"google.protobuf.Duration": "duration", "google.protobuf.Timestamp": "timestamp", "null_type": "null"}


def is_variable(kind: CelType) -> bool:
    """Tell whether a type is a type variable of one check."""
    return kind.name.startswith(_VARIABLE_PREFIX)


def display_type(kind: CelType) -> str:
    """Return a type as error messages show it, such as `list(timestamp)`."""
    name = _DISPLAYED.get(kind.name, kind.name)
    return f"{name}({', '.join(map(display_type, kind.parameters))})" if kind.parameters else name


def unwrap_optional(kind: CelType) -> tuple[CelType, bool]:
    """Return the type inside an optional type, and whether it is one."""
    return (kind.parameters[0], True) if kind.name == "optional_type" else (kind, False)


class Inference:
    """The known values of type variables in one check."""

    def __init__(self) -> None:
        """Start without knowledge."""
        self._known: dict[str, CelType] = {}
        self._undo: list[tuple[str, CelType | None]] = []
        self._count = 0

    def new_variable(self) -> CelType:
        """Return a type variable."""
        self._count += 1
        return CelType(f"{_VARIABLE_PREFIX}{self._count - 1}")

    def substitute(self, kind: CelType, *, finally_dyn: bool = False) -> CelType:
        """Replace type variables by their known types. With `finally_dyn`, replace unknown ones by dyn."""
        if not kind.parameters:
            if not is_variable(kind):
                return kind
            known = self._known.get(kind.name)
            if known is not None:
                return self.substitute(known, finally_dyn=finally_dyn)
            return DYN if finally_dyn else kind
        parameters = tuple([self.substitute(parameter, finally_dyn=finally_dyn) for parameter in kind.parameters])
        return kind if parameters == kind.parameters else CelType(kind.name, parameters)

    def resolve(self, types: Mapping[int, CelType]) -> dict[int, CelType]:
        """Return types without type variables; unknown ones become dyn."""
        resolved: dict[int, CelType] = {}
        for kind in types.values():
            self._resolve(kind, resolved)
        return {node: resolved[id(kind)] for node, kind in types.items()}

    def _resolve(self, kind: CelType, resolved: dict[int, CelType]) -> CelType:
        """Resolve a type and its parts. Resolve shared parts once."""
        found = resolved.get(id(kind))
        if found is None:
            if kind.parameters:
                parameters = tuple([self._resolve(parameter, resolved) for parameter in kind.parameters])
                found = CelType(kind.name, parameters)
            elif is_variable(kind):
                known = self._known.get(kind.name)
                found = DYN if known is None else self._resolve(known, resolved)
            else:
                found = kind
            resolved[id(kind)] = found
        return found

    def assign(self, target: CelType, value: CelType) -> bool:
        """Tell whether a value can be used as a target. If so, record the types of variables."""
        return self.assign_all((target,), (value,))

    def assign_all(self, targets: Sequence[CelType], values: Sequence[CelType]) -> bool:
        """Tell whether all values can be used as the targets. If so, record the types of variables."""
        start = len(self._undo)
        if self._all_assignable(targets, values):
            return True
        while len(self._undo) > start:
            name, before = self._undo.pop()
            if before is None:
                del self._known[name]
            else:
                self._known[name] = before
        return False

    def _all_assignable(self, targets: Sequence[CelType], values: Sequence[CelType]) -> bool:
        if len(targets) != len(values):
            return False
        for target, value in zip(targets, values, strict=True):  # noqa: SIM110 - no recursion through C code
            if not self._assignable(target, value):
                return False
        return True

    def _assignable(self, target: CelType, value: CelType) -> bool:
        if is_variable(value):
            valid, known = self._bind(target, value)
            if valid:
                return True
            if known:
                return False
        if is_variable(target):
            return self._bind(value, target)[0]
        if target.name in _WILDCARDS or value.name in _WILDCARDS:
            return True
        if target.name == NULL.name:
            return _accepts_null(value)
        if value.name == NULL.name:
            return _accepts_null(target)
        if target.name == "type":
            return value.name == "type"
        return target.name == value.name and self._all_assignable(target.parameters, value.parameters)

    def _bind(self, kind: CelType, variable: CelType) -> tuple[bool, bool]:
        """Return whether a variable may have the type, and whether its type was known before."""
        if kind == variable:
            return True, True
        known = self._known.get(variable.name)
        if known is not None:
            if kind == known:
                return True, True
            if not self._assignable(kind, known):
                return False, True
            general = kind if is_less_specific(kind, known) else known
            if self._not_within(variable, general):
                self._learn(variable, general)
            return True, True
        if self._not_within(variable, kind):
            self._learn(variable, kind)
            return True, False
        return False, False

    def _learn(self, variable: CelType, kind: CelType) -> None:
        self._undo.append((variable.name, self._known.get(variable.name)))
        self._known[variable.name] = kind

    def _not_within(self, variable: CelType, kind: CelType) -> bool:
        if variable == kind:
            return False
        if is_variable(kind):
            known = self._known.get(kind.name)
            return known is None or self._not_within(variable, known)
        for parameter in kind.parameters:  # noqa: SIM110 - no recursion through C code
            if not self._not_within(variable, parameter):
                return False
        return True


def is_less_specific(first: CelType, second: CelType) -> bool:
    """Tell whether the first type is equal to the second or says less than it."""
    if first == DYN or is_variable(first):
        return True
    if second == DYN or is_variable(second) or first.name != second.name:
        return False
    if first.name == "type":
        return True
    if len(first.parameters) != len(second.parameters):
        return False
    return all(is_less_specific(one, other) for one, other in zip(first.parameters, second.parameters, strict=True))


def _accepts_null(kind: CelType) -> bool:
    return kind.name not in _NOT_NULLABLE or kind.name == NULL.name
