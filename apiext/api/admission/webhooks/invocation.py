"""Webhooks in the form in which writes use them, and the decision whether a write concerns one (webhook/generic/webhook.go)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from apiext.api.admission.matching.criteria import MatchCriteria, webhook_criteria
from apiext.api.admission.sources import HookEntry
from apiext.base.meta.limits import MAX_INLINE_EXPRESSION_LENGTH
from apiext.base.scheduling.side_thread import aside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.gvk import GroupVersionKind, GroupVersionResource
    from apiext.schema.cel.policies.match_conditions import MatchConditions

REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_SILENT: Final = frozenset({"None", "NoneOnDryRun"})
"""Classes of side effects that a dry run does not have."""


@dataclass(slots=True, eq=False)
class CompiledHook:
    """A webhook of a configuration."""

    entry: HookEntry
    name: str
    criteria: MatchCriteria
    fails_open: bool
    """Whether a write continues if the webhook cannot be asked."""
    reinvocable: bool
    """Whether a mutating webhook is asked again after later changes."""
    supports_dry_run: bool
    timeout: float | None
    """Seconds for a call; None for the rest of the write's time."""
    review_version: str | None
    """The version of its reviews; None if it accepts none of the known ones."""
    _conditions: MatchConditions | None = None
    _compiling: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def has_conditions(self) -> bool:
        """Return whether the webhook has match conditions."""
        return bool(self.entry.hook.get("matchConditions"))

    async def conditions(self) -> MatchConditions:
        """Return the compiled match conditions."""
        async with self._compiling:
            if self._conditions is None:
                self._conditions = await _compile(self.entry.hook["matchConditions"])
        return self._conditions


async def _compile(conditions: Sequence[Mapping[str, Any]]) -> MatchConditions:
    from apiext.schema.cel.policies.match_conditions import compile_match_conditions

    if sum(len(condition.get("expression") or "") for condition in conditions) > MAX_INLINE_EXPRESSION_LENGTH:
        return await aside(lambda: compile_match_conditions(conditions))
    return compile_match_conditions(conditions)


class CompiledHooks:
    """The compiled webhooks of entries in use."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[HookEntry, CompiledHook] = WeakKeyDictionary()

    def get(self, entry: HookEntry) -> CompiledHook:
        """Return a compiled webhook."""
        known = self._known.get(entry)
        if known is None:
            known = self._known[entry] = compile_hook(entry)
        return known


def compile_hook(entry: HookEntry) -> CompiledHook:
    """Compile a webhook, apart from its match conditions."""
    hook = entry.hook
    accepted = hook.get("admissionReviewVersions") or ()
    return CompiledHook(
        entry=entry,
        name=hook["name"],
        criteria=webhook_criteria(hook),
        fails_open=hook.get("failurePolicy") == "Ignore",
        reinvocable=hook.get("reinvocationPolicy") == "IfNeeded",
        supports_dry_run=hook.get("sideEffects") in _SILENT,
        timeout=hook.get("timeoutSeconds"),
        review_version=next((version for version in accepted if version in REVIEW_VERSIONS), None),
    )


@dataclass(frozen=True, slots=True)
class HookInvocation:
    """A webhook that a write concerns, with the resource and kind that it gets."""

    hook: CompiledHook
    resource: GroupVersionResource
    kind: GroupVersionKind
