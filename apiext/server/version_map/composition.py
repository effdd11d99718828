"""Composes the entry of a definition from its facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.gvk import GroupVersionResource
from apiext.resources.definitions.conditions import STORAGE_MIGRATION_PROBLEMS
from apiext.resources.definitions.definition import deprecation_warning
from apiext.resources.definitions.stored_report import stored_report
from apiext.server.version_map.conversions import conversion_target
from apiext.server.version_map.entries import DEFINITIONS, GUARDS, MIGRATIONS, DefinitionEntry, NamedPart
from apiext.server.version_map.next_steps import next_steps
from apiext.storage.stored_bytes.version_counts import StoredCounts

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.server.version_map.entries import ConversionFacts, DefinitionFacts

_NO_COUNTS: Final = StoredCounts({}, 0)
_MAX_MESSAGE: Final = 2000
"""Characters of the condition's message."""


def compose(definition: Definition, counts: StoredCounts | None, facts: DefinitionFacts) -> DefinitionEntry:
    """Return the entry of a definition; `counts` is None while the objects are being counted."""
    stored = stored_report(definition, counts or _NO_COUNTS)
    shown: Object = {
        "name": definition.name,
        "group": definition.group,
        "kind": definition.names.kind,
        "plural": definition.names.plural,
        "scope": "Namespaced" if definition.namespaced else "Cluster",
        "state": _state(definition),
        "versions": [_version(definition, row, counted=counts is not None) for row in stored["versions"]],
        "objects": None if counts is None else counts.total,
        "unknown": None if counts is None else counts.unknown,
        "problems": None if facts.problems is None else facts.problems.summary(),
        "conversion": _conversion(definition, facts.conversion),
        "migrations": [{"state": one.state, "created": one.created, "left": one.left, "total": one.total} for one in facts.migrations],
        "migration": facts.migration.value,
        "migrationProblems": _migration_problem(definition) != "",
        "guards": None if facts.guards is None else {plural: len(rows) for plural, rows in facts.guards.items()},
        "next": [] if counts is None else next_steps(definition, counts, facts.migration),
    }
    return DefinitionEntry(shown, tuple(part for part in _named(definition, facts) if part.items))


def _state(definition: Definition) -> str:
    if definition.is_terminating:
        return "terminating"
    if not definition.is_established:
        return "not established"
    return "established" if definition.phase is None else f"mirror, {definition.phase}"


def _version(definition: Definition, row: Object, *, counted: bool) -> Object:
    version = definition.version(row["name"])
    warning = deprecation_warning(definition, version) if version is not None and version.deprecated else ""
    return row | {"defined": version is not None, "warning": warning, "objects": row["objects"] if counted else None}


def _conversion(definition: Definition, facts: ConversionFacts) -> Object:
    rules = facts.rules
    return {
        "strategy": definition.conversion_strategy if rules is None else "Rules",
        "routes": list(facts.routes),
        "circuitOpen": facts.is_open,
        "problems": [] if rules is None else list(rules.problems),
    }


def _migration_problem(definition: Definition) -> str:
    condition = definition.condition(STORAGE_MIGRATION_PROBLEMS) or {}
    return str(condition.get("message") or condition.get("reason") or "")[:_MAX_MESSAGE] if condition.get("status") == "True" else ""


def _named(definition: Definition, facts: DefinitionFacts) -> list[NamedPart]:
    """Return the parts with names of objects, or with texts that may contain some."""
    own = GroupVersionResource(definition.group, definition.storage_version.name, definition.names.plural)
    report, problem = facts.problems, _migration_problem(definition)
    detail: dict[str, Any] = {"target": conversion_target(definition), "error": facts.conversion.error}
    return [
        NamedPart("problems", own, () if report is None else report.items),
        NamedPart("problemsError", own, () if report is None or not report.error else ({"message": report.error},)),
        NamedPart("migrationProblems", own, ({"message": problem},) if problem else ()),
        NamedPart("conversion", DEFINITIONS, (detail,) if any(detail.values()) else ()),
        NamedPart("migrations", MIGRATIONS, [{"name": one.name, "message": one.message} for one in facts.migrations]),
        *(NamedPart(plural, GUARDS[plural], rows) for plural, rows in (facts.guards or {}).items()),
    ]
