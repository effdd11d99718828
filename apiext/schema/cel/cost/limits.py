"""Limits on the costs of a CustomResourceDefinition's rules (CELSchemaContext and TotalCost in cel_validation.go)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from apiext.base.meta.field import FieldError, Path, forbidden
from apiext.base.meta.limits import MAX_BODY_BYTES
from apiext.schema.cel.cost.estimate import MAX_UINT64
from apiext.schema.keywords import SIZE_LIMITS
from apiext.schema.model import Props

MAX_EXPRESSION_COST: Final = 10_000_000
"""Cost units that an expression may cost at most; a rule is evaluated for each value that its schema describes."""
MAX_SCHEMA_COST: Final = 100_000_000
"""Cost units that all expressions of a schema may cost together."""
_REPORTED: Final = 4
"""The most expensive expressions of a schema that are reported."""
_WORTH_REPORTING: Final = MAX_SCHEMA_COST // 100
_ADVICE: Final = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared"


@dataclass(slots=True)
class SchemaCosts:
    """Adds up the costs of the expressions in one root schema."""

    suppressed: bool = False
    """Whether the limit of single expressions is off, as for a schema that an update leaves unchanged."""
    total: int = 0
    _most_expensive: list[tuple[int, Path]] = field(default_factory=list)

    def add_rule(self, path: Path, cost: int, cardinality: int) -> list[FieldError]:
        """Add a rule that is evaluated `cardinality` times for an object; return the error if it is too expensive."""
        return self._add("rule", path.child("rule"), min(cost * cardinality, MAX_UINT64))

    def add_message(self, path: Path, cost: int) -> list[FieldError]:
        """Add the messageExpression of a rule; return the error if it is too expensive."""
        return self._add("messageExpression", path.child("messageExpression"), cost)

    def errors(self, path: Path) -> list[FieldError]:
        """Return the errors if all expressions together are too expensive, those of the most expensive ones first."""
        if self.total <= MAX_SCHEMA_COST:
            return []
        detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        contributions = [forbidden(expensive, detail) for _, expensive in self._most_expensive]
        return [*contributions, forbidden(path, exceeded(name, self.total, MAX_SCHEMA_COST))]

    def _add(self, name: str, path: Path, cost: int) -> list[FieldError]:
        self.total = min(self.total + cost, MAX_UINT64)
        if cost >= _WORTH_REPORTING:
            self._most_expensive.append((cost, path))
            self._most_expensive.sort(key=lambda expensive: -expensive[0])
            del self._most_expensive[_REPORTED:]
        if self.suppressed or cost <= MAX_EXPRESSION_COST:
            return []
        return [forbidden(path, exceeded(f"estimated {name} cost", cost, MAX_EXPRESSION_COST))]


def child_cardinality(cardinality: int | None, schema: Props) -> int | None:
    """Return how often values may occur that are described directly below a schema; None for no limit.

    The schema's own values occur `cardinality` times; the root's once.
    """
    if cardinality is None:
        return None
    kind = schema.get("type")
    limit: int | None = 1
    if kind == "array" or (kind == "object" and schema.get("additionalProperties") is not None):
        limit = schema.get(SIZE_LIMITS[kind])
    return None if limit is None else min(cardinality * max(limit, 0), MAX_UINT64)


def cardinality_by_size(min_serialized_size: int) -> int:
    """Return how many values of a size in bytes, with a comma after each, a request has room for."""
    return MAX_BODY_BYTES // (min_serialized_size + 1)


def exceeded(name: str, cost: int, limit: int) -> str:
    """Return the detail of an error about a cost beyond a limit."""
    excess = float(cost) / float(limit)
    factor = f"{excess:.6f}x" if excess < 1.5 else f"{excess:.1f}x"
    if excess > 100:
        factor = "more than 100x"
    return f"{name} exceeds budget by factor of {factor} ({_ADVICE})"
