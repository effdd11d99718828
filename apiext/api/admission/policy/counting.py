"""Counts of evaluations (metrics/ and errors.go of apiserver pkg/admission/plugin/policy/validating and mutating)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from apiext.api.admission.attributes import Attributes
    from apiext.api.admission.metrics import AdmissionStats
    from apiext.schema.cel.policies.match_conditions import ConditionsResult

NO_ERROR: Final = "no_error"
_CONDITION_TYPE: Final = "validate"
"""The type of the conditions of all policies, mutating ones too."""


def error_type(message: str) -> str:
    """Return the type of a violation or an error in metrics. As in the reference, its text decides."""
    if message.startswith("compilation"):
        return "compile_error"
    return "out_of_budget" if message.startswith("validation failed due to running out of cost budget") else "invalid_error"


def observe_conditions(stats: AdmissionStats, name: str, attributes: Attributes, result: ConditionsResult | None) -> None:
    """Count the evaluation of a policy's match conditions; None for a policy without any."""
    if result is None:
        return
    labels = name, "policy", _CONDITION_TYPE, attributes.operation.value
    stats.condition_seconds[labels].observe(result.seconds)
    if result.failures:
        stats.condition_errors[labels] += result.failures
