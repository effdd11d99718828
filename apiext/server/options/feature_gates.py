"""Values of `--feature-gates`.

Mirrors component-base featuregate/feature_gate.go and compatibility/registry.go, whose error texts are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from apiext.meta.flags import FALSE, TRUE
from apiext.meta.golang.formatting import quote
from apiext.meta.log import get_logger
from apiext.server.options.known_feature_gates import DEPENDENCIES, FEATURE_GATES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOG: Final = get_logger(__name__)
_COMPONENT: Final = "kube"
_ALL_OF_STAGE: Final = {"AllAlpha": "alpha", "AllBeta": "beta"}
"""Gates that set all gates of a stage, except those in the flag."""
CBOR_GATE: Final = "CBORServingAndStorage"
MIGRATOR_GATE: Final = "StorageVersionMigrator"
STORAGE_VERSION_GATE: Final = "StorageVersionAPI"
"""Requires the gate APIServerIdentity, which has no other effect: Leases are not served."""
_OTHERS: Final = ("AllowUnsafeMalformedObjectDeletion", "ConstrainedImpersonation")
_INEFFECTIVE: Final = "CRDObservedGenerationTracking"
"""Changes no answer of the reference: a status keeps its written observedGeneration with and without this gate."""
_IMPLEMENTED: Final = frozenset({*_ALL_OF_STAGE, CBOR_GATE, MIGRATOR_GATE, STORAGE_VERSION_GATE, _INEFFECTIVE, *_OTHERS})
"""Gates that this server follows."""


class FeatureGatesError(Exception):
    """Invalid feature gates; `problems` has one line for each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The gates that a flag set; all others have their default."""

    explicit: Mapping[str, bool] = field(default_factory=dict)

    def enabled(self, name: str) -> bool:
        """Return whether a gate of FEATURE_GATES is enabled."""
        value = self.explicit.get(name)
        stage = FEATURE_GATES[name]
        if value is None and name not in _ALL_OF_STAGE:
            value = next((self.explicit.get(group) for group, of in _ALL_OF_STAGE.items() if of == stage.name), None)
        return stage.default if value is None else value

    def log_warnings(self) -> None:
        """Log gates that will be removed, and gates with another value than the default that are not implemented."""
        for name, value in self.explicit.items():
            stage = FEATURE_GATES[name].name
            if stage in {"GA", "deprecated"}:
                _LOG.warning("feature gate will be removed in a future release", gate=name, value=value, stage=stage)
        changed = (name for name, stage in FEATURE_GATES.items() if self.enabled(name) != stage.default)
        if ignored := sorted(set(changed) - _IMPLEMENTED):
            _LOG.warning("feature gates are not implemented, and their values are ignored", gates=",".join(ignored))


def parse_feature_gates(pairs: Sequence[str]) -> FeatureGates:
    """Return the gates of a flag; the last of several values of a gate counts.

    Raises:
        FeatureGatesError: a gate is unknown, locked or depends on disabled gates, or its value is not a boolean.
    """
    explicit: dict[str, bool] = {}
    for pair in _without_component(pairs):
        name, equals, value = map(str.strip, pair.partition("="))
        if not equals:
            raise FeatureGatesError([f"missing bool value for {name}"])
        if value not in TRUE | FALSE:
            raise FeatureGatesError([f"invalid value of {name}={value}, err: strconv.ParseBool: parsing {quote(value)}: invalid syntax"])
        explicit[name] = value in TRUE
    gates = FeatureGates(explicit)
    if problems := _unknown(explicit) or _locked(explicit) or _unmet_dependencies(gates):
        raise FeatureGatesError(problems)
    return gates


def _without_component(pairs: Sequence[str]) -> list[str]:
    components = {component.strip() for component, colon, _ in (pair.partition(":") for pair in pairs) if colon}
    if unknown := sorted(components - {_COMPONENT}):
        raise FeatureGatesError([f"component not registered: {name}" for name in unknown])
    if components and not all(":" in pair for pair in pairs):
        raise FeatureGatesError(["set kube feature gates with default empty prefix or kube: prefix consistently, do not mix use"])
    return [pair.partition(":")[2] if components else pair for pair in pairs]


def _unknown(explicit: Mapping[str, bool]) -> list[str]:
    return [f"unrecognized feature gate: {name}" for name in explicit if name not in FEATURE_GATES]


def _locked(explicit: Mapping[str, bool]) -> list[str]:
    return [
        f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {str(stage.default).lower()}"
        for name, value in explicit.items()
        if (stage := FEATURE_GATES[name]).locked and value != stage.default
    ]


def _unmet_dependencies(gates: FeatureGates) -> list[str]:
    return [
        f"{name} is enabled, but depends on features that are disabled: [{' '.join(disabled)}]"
        for name, needed in DEPENDENCIES.items()
        if gates.enabled(name) and (disabled := [other for other in needed if not gates.enabled(other)])
    ]
