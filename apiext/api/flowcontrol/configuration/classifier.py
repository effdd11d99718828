"""Classifies requests: the first FlowSchema that matches, its priority level and the flow.

Mirrors startRequest of apiserver pkg/util/flowcontrol/apf_controller.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from apiext.api.flowcontrol.configuration.priority_level import CATCH_ALL
from apiext.base.meta.limits import MAX_CLASSIFICATION_CHARACTERS, MAX_CLASSIFICATIONS

if TYPE_CHECKING:
    from apiext.api.flowcontrol.configuration.configuration import Configuration
    from apiext.api.flowcontrol.configuration.flow_schema import FlowSchema
    from apiext.api.flowcontrol.configuration.priority_level import PriorityLevel
    from apiext.base.meta.request import RequestInfo, UserInfo

_SCHEMA: Final = "X-Kubernetes-Pf-Flowschema-Uid"
_LEVEL: Final = "X-Kubernetes-Pf-Prioritylevel-Uid"
_FLOW_QUEUES: Final = 1
"""Number of queues; only priority levels with more queues distinguish flows."""


@dataclass(frozen=True, slots=True)
class Classification:
    """The FlowSchema and the priority level of a request, and its flow."""

    schema: FlowSchema
    level: PriorityLevel
    flow: str
    """The distinguisher of the flow in its FlowSchema; empty if the priority level does not distinguish flows."""
    headers: dict[str, str]
    """Headers of the answer with the uids of the FlowSchema and the priority level; users must not learn their names."""


class Classifier:
    """Classifies requests by one configuration, and caches the results."""

    def __init__(self, configuration: Configuration) -> None:
        self.configuration: Final = configuration
        self._known: dict[tuple[str | tuple[str, ...], ...], Classification] = {}

    def classify(self, user: UserInfo, info: RequestInfo) -> Classification:
        """Return the classification of a user's request."""
        # the keys of resource and path requests differ in length
        key: tuple[str | tuple[str, ...], ...]
        if info.is_resource:
            key = (user.name, user.groups, info.verb, info.group, info.resource, info.namespace, info.subresource)
        else:
            key = (user.name, user.groups, info.verb, info.path)
        found = self._known.get(key)
        if found is None:
            found = self._classify(user, info)
            if sum(map(len, user.groups)) + len(info.path) + len(user.name) <= MAX_CLASSIFICATION_CHARACTERS:
                if len(self._known) >= MAX_CLASSIFICATIONS:
                    self._known.clear()
                self._known[key] = found
        return found

    def _classify(self, user: UserInfo, info: RequestInfo) -> Classification:
        schemas = self.configuration.schemas
        schema = next((schema for schema in schemas if schema.matches(user, info)), None)
        if schema is None:
            # a user with neither system:authenticated nor system:unauthenticated
            schema = next(schema for schema in schemas if schema.name == CATCH_ALL)
        level = self.configuration.levels[schema.priority_level]
        distinct = level.queuing is not None and level.queuing.queues > _FLOW_QUEUES
        headers = {_SCHEMA: schema.uid, _LEVEL: level.uid}
        return Classification(schema, level, schema.flow(user, info) if distinct else "", headers)
