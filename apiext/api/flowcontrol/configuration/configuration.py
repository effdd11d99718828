"""The usable FlowSchemas and PriorityLevelConfigurations, in the order of matching.

Mirrors the digestion of objects in apiserver pkg/util/flowcontrol/apf_controller.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from apiext.api.flowcontrol.configuration.bootstrap import (
    MANDATORY_FLOW_SCHEMAS,
    MANDATORY_PRIORITY_LEVELS,
    bootstrap_flow_schemas,
    bootstrap_priority_levels,
)
from apiext.api.flowcontrol.configuration.flow_schema import FlowSchema, flow_schema_steps
from apiext.api.flowcontrol.configuration.members import InvalidFlowControlObjectError
from apiext.api.flowcontrol.configuration.priority_level import CATCH_ALL, EXEMPT, PriorityLevel, parse_priority_level
from apiext.base.meta.steps import Steps, at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from apiext.base.meta.encoding.json_codec import Object

T = TypeVar("T", FlowSchema, PriorityLevel)


@dataclass(frozen=True, slots=True)
class Configuration:
    """The FlowSchemas and priority levels that classify requests."""

    schemas: tuple[FlowSchema, ...]
    """In the order of matching; each names one of the priority levels."""
    levels: Mapping[str, PriorityLevel]
    """By name."""
    problems: tuple[str, ...] = ()
    """Unusable objects, each with the reason."""


def configuration_steps(schemas: Iterable[Object], levels: Iterable[Object]) -> Steps[Configuration]:
    """Return the configuration of FlowSchemas and PriorityLevelConfigurations, in steps.

    It omits unusable objects and lists them in `problems`. It adds missing mandatory objects.
    """
    problems: list[str] = []
    parsed = yield from _parsed(levels, _priority_level_steps, problems)
    by_name = _MANDATORY_LEVELS | {level.name: level for level in parsed}
    usable: dict[str, FlowSchema] = {}
    for schema in (yield from _parsed(schemas, flow_schema_steps, problems)):
        if schema.priority_level in by_name:
            usable[schema.name] = schema
        else:
            problems.append(f"FlowSchema {schema.name!r}: there is no usable priority level {schema.priority_level!r}")
    ordered = sorted(usable.values(), key=lambda schema: (schema.precedence, schema.name))
    if EXEMPT not in usable:
        ordered.insert(0, _MANDATORY_SCHEMAS[EXEMPT])
    if CATCH_ALL not in usable:
        ordered.append(_MANDATORY_SCHEMAS[CATCH_ALL])
    return Configuration(tuple(ordered), by_name, tuple(problems))


def _parsed(objects: Iterable[Object], parse: Callable[[Object], Steps[T]], problems: list[str]) -> Steps[list[T]]:
    found = []
    for obj in objects:
        try:
            found.append((yield from parse(obj)))
        except InvalidFlowControlObjectError as error:
            metadata = obj.get("metadata")
            name = metadata.get("name") if isinstance(metadata, dict) else None
            problems.append(f"{obj.get('kind')} {name!r}: {error}")
    return found


def _priority_level_steps(obj: Object) -> Steps[PriorityLevel]:
    yield
    return parse_priority_level(obj)


_MANDATORY_LEVELS: Final = {level.name: level for level in map(parse_priority_level, MANDATORY_PRIORITY_LEVELS)}
_MANDATORY_SCHEMAS: Final = {schema.name: schema for schema in (at_once(flow_schema_steps(obj)) for obj in MANDATORY_FLOW_SCHEMAS)}

MANDATORY: Final = at_once(configuration_steps((), ()))
"""The configuration without any object."""
BOOTSTRAP: Final = at_once(configuration_steps(bootstrap_flow_schemas(), bootstrap_priority_levels()))
"""The configuration of the mandatory and suggested objects, with their uids."""
