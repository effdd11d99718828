"""What a webhook, a policy or a binding says about the writes that it applies to, parsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apiext.api.admission.matching.rules import Rule, parse_rules
from apiext.base.meta.objectmeta.label_selector import parse_selector
from apiext.base.meta.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class MatchCriteria:
    """Rules and selectors. A write must satisfy all of them."""

    rules: tuple[Rule, ...]
    namespace_selector: LabelSelector | ValueError
    """An error is the answer for writes that everything else matches."""
    object_selector: LabelSelector | ValueError
    equivalent: bool = True
    """Whether a rule for an equivalent resource matches."""
    excluded: tuple[Rule, ...] = ()
    """Rules whose requests do not match."""
    matches_all: bool = False
    """Whether requests of all resources match, because there are no rules."""
    needs_namespace: bool = field(init=False)
    """Whether more than the objects decides: the labels of their namespace, or an error in a selector."""

    def __post_init__(self) -> None:
        selectors = self.namespace_selector, self.object_selector
        has_error = any(isinstance(selector, ValueError) for selector in selectors)
        needs = has_error or (isinstance(self.namespace_selector, LabelSelector) and not self.namespace_selector.empty)
        object.__setattr__(self, "needs_namespace", needs)


def webhook_criteria(hook: Mapping[str, Any]) -> MatchCriteria:
    """Return the criteria of a stored webhook."""
    return MatchCriteria(
        rules=parse_rules(hook.get("rules")),
        namespace_selector=_selector(hook.get("namespaceSelector")),
        object_selector=_selector(hook.get("objectSelector")),
        equivalent=hook.get("matchPolicy") == "Equivalent",
    )


def resources_criteria(resources: Mapping[str, Any]) -> MatchCriteria:
    """Return the criteria of stored MatchResources: a policy's matchConstraints or a binding's matchResources."""
    rules = parse_rules(resources.get("resourceRules"))
    return MatchCriteria(
        rules=rules,
        namespace_selector=_selector(resources.get("namespaceSelector")),
        object_selector=_selector(resources.get("objectSelector")),
        equivalent=resources.get("matchPolicy") == "Equivalent",
        excluded=parse_rules(resources.get("excludeResourceRules")),
        matches_all=not rules,
    )


def _selector(selector: Mapping[str, Any] | None) -> LabelSelector | ValueError:
    try:
        return parse_selector(selector)
    except ValueError as error:
        return ValueError(str(error))
