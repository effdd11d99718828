"""Counts of admission (apiserver pkg/admission/metrics). server/routes/admission_metrics.py renders the Prometheus format."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

from apiext.base.scheduling.histogram import Histogram

ADMIT: Final = "admit"
VALIDATE: Final = "validate"
STEP_BUCKETS: Final = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
"""Upper bounds of the durations of steps and plug-ins, in seconds."""
WEBHOOK_BUCKETS: Final = (*STEP_BUCKETS, 10.0, 25.0)
"""Upper bounds of webhook_admission_duration_seconds, in seconds."""
CONDITION_BUCKETS: Final = (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25)
"""Upper bounds of match_condition_evaluation_seconds, in seconds."""
POLICY_BUCKETS: Final = (0.0000005, 0.001, 0.01, 0.1, 1.0)
"""Upper bounds of validating_ and mutating_admission_policy_check_duration_seconds, in seconds."""
_QUICK: Final = STEP_BUCKETS[0]
_MAX_CODE: Final = 600
"""Greater codes are counted as this one."""


class StepSeries:
    """Durations of a step or of a plug-in, for one operation: of accepted and of rejected writes."""

    __slots__ = ("accepted", "rejected")

    def __init__(self) -> None:
        self.accepted = Histogram(STEP_BUCKETS)
        self.rejected = Histogram(STEP_BUCKETS)

    def accept(self, seconds: float) -> None:
        """Count an accepted write."""
        accepted = self.accepted
        if seconds <= _QUICK:
            # the usual case, without a search
            accepted.buckets[0] += 1
            accepted.seconds += seconds
        else:
            accepted.observe(seconds)

    def reject(self, seconds: float) -> None:
        """Count a rejected write."""
        self.rejected.observe(seconds)

    @property
    def count(self) -> int:
        """Return the number of writes."""
        return self.accepted.count + self.rejected.count

    def add(self, other: StepSeries) -> None:
        """Add what was counted elsewhere."""
        self.accepted.add(other.accepted)
        self.rejected.add(other.rejected)

    def reset(self) -> None:
        """Count from zero again."""
        self.accepted.reset()
        self.rejected.reset()


class AdmissionStats:
    """All series. A series exists once something is counted in it."""

    def __init__(self) -> None:
        self.steps: defaultdict[tuple[str, str], StepSeries] = defaultdict(StepSeries)
        """By type (admit or validate) and operation."""
        self.controllers: defaultdict[tuple[str, str, str], StepSeries] = defaultdict(StepSeries)
        """By the plug-in's name, type and operation."""
        self.webhooks: defaultdict[tuple[str, str, str, str], Histogram] = defaultdict(_webhook_histogram)
        """By the webhook's name, type, operation, and "true" or "false" for a rejection."""
        self.webhook_requests: Counter[tuple[str, str, str, str, str]] = Counter()
        """By the webhook's name, type, operation, code, and "true" or "false" for a rejection."""
        self.webhook_rejections: Counter[tuple[str, str, str, str, str]] = Counter()
        """By the webhook's name, type, operation, type of the error, and code."""
        self.fail_open: Counter[tuple[str, str]] = Counter()
        """By the webhook's name and type."""
        self.condition_errors: Counter[tuple[str, str, str, str]] = Counter()
        """By the name of the webhook or policy, kind (webhook or policy), type and operation."""
        self.condition_exclusions: Counter[tuple[str, str, str, str]] = Counter()
        """As `condition_errors`."""
        self.condition_seconds: defaultdict[tuple[str, str, str, str], Histogram] = defaultdict(_condition_histogram)
        """As `condition_errors`."""
        self.validating_policies: defaultdict[tuple[str, str, str, str], Histogram] = defaultdict(_policy_histogram)
        """Checks by the names of policy and binding, type of the error, and enforcement action."""
        self.mutating_policies: defaultdict[tuple[str, str, str], Histogram] = defaultdict(_policy_histogram)
        """Checks by the names of policy and binding, and type of the error."""

    def step(self, phase: str, operation: str) -> StepSeries:
        """Return the series of a step."""
        return self.steps[phase, str(operation)]

    def controller(self, name: str, phase: str, operation: str) -> StepSeries:
        """Return the series of a plug-in in a step."""
        return self.controllers[name, phase, str(operation)]

    def observe_webhook(self, name: str, seconds: float, phase: str, operation: str, *, code: int, rejected: bool) -> None:
        """Count a call of a webhook."""
        verdict = str(rejected).lower()
        self.webhook_requests[name, phase, str(operation), str(min(code, _MAX_CODE)), verdict] += 1
        self.webhooks[name, phase, str(operation), verdict].observe(seconds)

    def reject(self, name: str, phase: str, operation: str, *, error_type: str, code: int) -> None:
        """Count a write that a webhook, or its failure, has rejected."""
        self.webhook_rejections[name, phase, str(operation), error_type, str(min(code, _MAX_CODE))] += 1

    def take(self) -> AdmissionStats:
        """Return what has been counted, and count from zero again."""
        taken = AdmissionStats()
        taken.add(self)
        for name in _MEMBERS:
            mine = getattr(self, name)
            if isinstance(mine, Counter):
                mine.clear()
            else:
                # chains keep their series
                for series in mine.values():
                    series.reset()
        return taken

    def add(self, other: AdmissionStats) -> None:
        """Add what was counted elsewhere."""
        for name in _MEMBERS:
            mine = getattr(self, name)
            for key, counted in getattr(other, name).items():
                if isinstance(mine, Counter):
                    mine[key] += counted
                elif counted.count:
                    mine[key].add(counted)


def _webhook_histogram() -> Histogram:
    return Histogram(WEBHOOK_BUCKETS)


def _condition_histogram() -> Histogram:
    return Histogram(CONDITION_BUCKETS)


def _policy_histogram() -> Histogram:
    return Histogram(POLICY_BUCKETS)


_MEMBERS: Final = (
    *("steps", "controllers", "webhooks", "webhook_requests", "webhook_rejections"),
    *("fail_open", "condition_errors", "condition_exclusions", "condition_seconds", "validating_policies", "mutating_policies"),
)
