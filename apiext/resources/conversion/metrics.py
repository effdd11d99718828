"""Counts of conversions by webhooks and by rules (apiextensions-apiserver pkg/apiserver/conversion/metrics.go)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from apiext.base.scheduling.histogram import Histogram

CONVERSION_BUCKETS: Final = tuple(0.001 * 2**power for power in range(15))
"""Upper bounds of crd_conversion_webhook_duration_seconds, in seconds."""
CALL_BUCKETS: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0)
"""Upper bounds of conversion_webhook_duration_seconds, in seconds."""

RULES_BUCKETS: Final = tuple(0.00001 * 4**power for power in range(8))
"""Upper bounds of apiext_crd_conversion_rules_duration_seconds, in seconds."""

CALL_FAILURE: Final = "conversion_webhook_call_failure"
MALFORMED_RESPONSE: Final = "conversion_webhook_malformed_response_failure"
PARTIAL_RESPONSE: Final = "conversion_webhook_partial_response_failure"
INVALID_OBJECT: Final = "conversion_webhook_invalid_converted_object_failure"


@dataclass(frozen=True, slots=True)
class ConversionOutcome:
    """The outcome of a call of the webhook of a definition."""

    name: str
    """The definition's."""
    sources: Collection[str]
    """The version of the objects before the conversion."""
    target: str
    """The requested version."""
    failure: str
    """Empty for a successful call."""
    seconds: float


RulesCounts = Mapping[tuple[str, str, str, str], Histogram]
"""Conversions by rules, as in RulesStats."""


class RulesStats:
    """The conversions by rules."""

    def __init__(self) -> None:
        self.conversions: defaultdict[tuple[str, str, str, str], Histogram] = defaultdict(lambda: Histogram(RULES_BUCKETS))
        """As ConversionStats.conversions, for each object."""

    def take(self) -> RulesCounts:
        """Return all counts, and begin anew."""
        taken = dict(self.conversions)
        self.conversions.clear()
        return taken

    def add(self, counts: RulesCounts) -> None:
        """Add the counts of another process."""
        for key, histogram in counts.items():
            self.conversions[key].add(histogram)


class ConversionStats:
    """The conversions of all definitions, by webhooks and by rules."""

    def __init__(self) -> None:
        self.rules = RulesStats()
        self.conversions: defaultdict[tuple[str, str, str, str], Histogram] = defaultdict(lambda: Histogram(CONVERSION_BUCKETS))
        """By definition, source version, target version, and "true" or "false" for success."""
        self.calls: defaultdict[tuple[str, str], Histogram] = defaultdict(lambda: Histogram(CALL_BUCKETS))
        """By result and type of the failure."""

    def observe(self, outcome: ConversionOutcome) -> None:
        """Count a call."""
        failure, seconds = outcome.failure, outcome.seconds
        self.calls["failure" if failure else "success", failure].observe(seconds)
        for source in outcome.sources:
            self.conversions[outcome.name, source, outcome.target, str(not failure).lower()].observe(seconds)
