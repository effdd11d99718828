"""Values of `--feature-gates` (component-base featuregate/feature_gate.go)."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.base.meta.flags import FALSE, TRUE
from apiext.base.meta.golang.formatting import quote
from apiext.base.meta.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOG: Final = get_logger(__name__)


class _Gate(NamedTuple):
    """The default of a gate, and the gate that sets all of its stage, if there is one."""

    default: bool
    stage: str


CBOR_GATE: Final = "CBORServingAndStorage"
MIGRATOR_GATE: Final = "StorageVersionMigrator"
MANIFEST_GATE: Final = "ManifestBasedAdmissionControlConfig"
VIRTUAL_RESOURCES_GATE: Final = "ExcludeAdmissionWebhookVirtualResources"
MUTATING_POLICY_GATE: Final = "MutatingAdmissionPolicy"
STORAGE_VERSION_GATE: Final = "StorageVersionAPI"
SHARDS_GATE: Final = "ShardedListAndWatch"
WATCH_COMPRESSION_GATE: Final = "WatchListCompression"
RANGE_STREAM_GATE: Final = "EtcdRangeStream"
_MISTYPED: Final = 0.85
"""Similarity of a mistyped name, by difflib."""
_ALL_ALPHA: Final = "AllAlpha"
_ALL_BETA: Final = "AllBeta"
_GATES: Final = {
    CBOR_GATE: _Gate(default=False, stage=_ALL_ALPHA),
    STORAGE_VERSION_GATE: _Gate(default=False, stage=_ALL_ALPHA),
    SHARDS_GATE: _Gate(default=False, stage=_ALL_ALPHA),
    MIGRATOR_GATE: _Gate(default=True, stage=""),
    RANGE_STREAM_GATE: _Gate(default=True, stage=_ALL_BETA),
    WATCH_COMPRESSION_GATE: _Gate(default=True, stage=_ALL_BETA),
    MANIFEST_GATE: _Gate(default=True, stage=_ALL_BETA),
    VIRTUAL_RESOURCES_GATE: _Gate(default=True, stage=_ALL_BETA),
    MUTATING_POLICY_GATE: _Gate(default=True, stage=""),
    "AllowUnsafeMalformedObjectDeletion": _Gate(default=True, stage=_ALL_BETA),
    "ConstrainedImpersonation": _Gate(default=True, stage=_ALL_BETA),
}
"""Gates of kube-apiserver 1.37.1 that this server follows."""


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """The gates that a flag set; all others have their default."""

    explicit: Mapping[str, bool] = field(default_factory=dict)

    def enabled(self, name: str) -> bool:
        """Return whether a gate of this server is enabled."""
        gate = _GATES[name]
        return self.explicit.get(name, self.explicit.get(gate.stage, gate.default))

    def log_warnings(self) -> None:
        """Log gates that this server does not have: those of other resources, and unknown ones."""
        if ignored := sorted(self.explicit.keys() - _GATES.keys() - {_ALL_ALPHA, _ALL_BETA}):
            _LOG.warning("feature gates are not implemented, and their values are ignored", gates=",".join(ignored))


DEFAULT_GATES: Final = FeatureGates()
"""All gates have their defaults."""


def parse_feature_gates(pairs: Sequence[str]) -> FeatureGates:
    """Return the gates of a flag; the last of several values of a gate counts.

    Raises:
        ValueError: the value of a gate is not a boolean, or its name is nearly that of a gate of this server.
    """
    explicit: dict[str, bool] = {}
    for pair in pairs:
        name, equals, value = map(str.strip, pair.removeprefix("kube:").partition("="))
        if not equals:
            raise ValueError(f"missing bool value for {name}")
        if value not in TRUE | FALSE:
            raise ValueError(f"invalid value of {name}={value}, err: strconv.ParseBool: parsing {quote(value)}: invalid syntax")
        explicit[_checked(name)] = value in TRUE
    return FeatureGates(explicit)


def _checked(name: str) -> str:
    """Return the name of a gate unless it is a mistyped one of this server. Other names belong to resources that it does not serve."""
    meant = get_close_matches(name, _GATES, n=1, cutoff=_MISTYPED)
    if meant and meant[0] != name:
        raise ValueError(f"unrecognized feature gate: {name} (is {meant[0]} meant?)")
    return name
