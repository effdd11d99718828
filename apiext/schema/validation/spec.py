"""A schema node as value validation reads it (ConvertJSONSchemaProps, Structural.ToKubeOpenAPI), and its report (validate/schema.go)."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import TYPE_CHECKING, Any, Final, TypeVar

from apiext.base.scheduling.inline_work import current_work
from apiext.schema.validation.checker import compile_node
from apiext.schema.validation.keywords.constraint import Enumeration, NoneType
from apiext.schema.validation.keywords.registry import FUNCTIONS_OF
from apiext.schema.validation.keywords.values import is_supported_format
from apiext.schema.validation.result import Result

if TYPE_CHECKING:
    from apiext.schema.field_path import DottedPath
    from apiext.schema.model import Props
    from apiext.schema.validation.correlated import Correlated
    from apiext.schema.validation.keywords.constraint import Check, Constraint

S = TypeVar("S", bound=Sized)
_MATCHES: Final = {NoneType: 0, bool: 4, str: 5, int: 6, float: 6, list: 6, dict: 5}
"""Matches that the reference counts for a value besides those of its type, format and clauses."""


class Spec:
    """A schema node; nodes below are created on first use.

    served: validate as for requests: an int-or-string has the types integer and string, and formats that mean nothing for the type
    are ignored. Otherwise validate as for defaults: types and formats count as they stand.
    """

    __slots__ = (
        "_clauses", "_constraints", "additional", "check", "enumeration", "format", "items", "nullable", "properties", "raw", "served",
        "types",
    )  # fmt: skip

    check: Check
    """Whether a value surely is valid (checker.compile_node), compiled on first use."""
    enumeration: Enumeration
    properties: dict[str, Spec]
    items: Spec | None
    additional: Spec | None
    _clauses: dict[str, list[Spec]]
    _constraints: dict[type, list[Constraint]]

    def __init__(self, raw: Props | None, *, served: bool) -> None:
        self.raw = raw = raw or {}
        self.served = served
        get = raw.get
        kind = get("type")
        self.types: tuple[str, ...] = (kind,) if kind else ()
        if served and get("x-kubernetes-int-or-string") is True:
            self.types = ("integer", "string")
        self.format: str = get("format") or ""
        if served and self.format and not is_supported_format(self.types, self.format):
            self.format = ""
        self.nullable = get("nullable") is True

    def __getattr__(self, name: str) -> Any:
        # Called only while the slot is empty.
        value: Any
        if name == "check":
            value = compile_node(self)
        elif name == "properties":
            below = _counted(self.raw.get("properties") or {})
            value = {key: Spec(child, served=self.served) for key, child in below.items()}
        elif name == "enumeration":
            value = Enumeration(self.raw["enum"])
        elif name in _SINGLE:
            child = self.raw.get(_SINGLE[name])
            value = Spec(child, served=self.served) if isinstance(child, Mapping) else None
        elif name in ("_clauses", "_constraints"):
            value = {}
        else:
            raise AttributeError(name)
        setattr(self, name, value)
        return value

    def clauses(self, keyword: str) -> list[Spec]:
        """Return the schemas of a keyword that has one schema or a list of them."""
        if keyword not in self._clauses:
            found = self.raw.get(keyword)
            below = (found,) if isinstance(found, Mapping) else found or ()
            self._clauses[keyword] = [Spec(child, served=self.served) for child in _counted(below)]
        return self._clauses[keyword]

    def report(self, value: Any, name: DottedPath, known: Correlated | None = None) -> Result:
        """Return every violation of the value at the path `name`, in the reference's order.

        `known` correlates members and items with those of an old object; the value itself is not ratcheted.
        """
        current_work().step()
        result, kind = Result(), type(value)
        found = self._constraints.get(kind)
        if found is None:
            found = self._constraints[kind] = [each for function in FUNCTIONS_OF[kind] if (each := function(self, kind)) is not None]
        for each in found:
            each.report(value, name, result, known)
        result.match_count += _MATCHES[kind]
        return result

    def report_change(self, value: Any, name: DottedPath, known: Correlated | None) -> Result:
        """Return the violations of a value of a changed object: none if the value is unchanged (ratcheting)."""
        result = self.report(value, name, known)
        if result.is_valid or known is None or not known.equal:
            return result
        tolerated = Result()
        tolerated.match_count = result.match_count
        return tolerated


_SINGLE: Final = {"items": "items", "additional": "additionalProperties"}


def _counted(children: S) -> S:
    """Count the schemas below a node as work of the current request."""
    current_work().step(len(children))
    return children
