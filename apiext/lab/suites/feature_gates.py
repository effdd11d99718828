"""Feature gates of OpenShift: whether a manifest of openshift/api has the gates that a suite asks for.

Mirrors tests/crd_filter.go of openshift/api.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from apiext.definitions.sources.crd_documents import FileProblem, parse
from apiext.lab.suites.model import SuiteError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

FEATURE_SET: Final = "release.openshift.io/feature-set"
_PROFILE: Final = "include.release.openshift.io/"
_MAJOR_VERSION: Final = "release.openshift.io/major-version"
_ALL_FIELDS: Final = "CustomNoUpgrade"
_DISABLED: Final = "-"
_PAYLOAD: Final = ("payload-manifests", "featuregates")


class ManifestGates:
    """Decides which manifests a suite applies to. Reads each folder of gates once."""

    def __init__(self) -> None:
        self._payloads: dict[Path, list[tuple[Mapping[str, str], dict[str, bool]]]] = {}

    def apply(self, annotations: Mapping[str, str], wanted: Sequence[str], manifest: Path) -> bool:
        """Return whether the manifest with these annotations has the wanted gates.

        Raises:
            SuiteError: no file of payload-manifests/featuregates says whether a gate is enabled.
        """
        if not wanted:
            return True
        feature_sets = set(filter(None, annotations.get(FEATURE_SET, "").split(",")))
        if _ALL_FIELDS in feature_sets:
            return not any(gate.startswith(_DISABLED) for gate in wanted)
        profiles = sorted(name for name, value in annotations.items() if name.startswith(_PROFILE) and value == "true")
        if not profiles:
            return True
        # a manifest of several profiles is the same in all of them
        status = self._status(manifest, profiles[0], feature_sets or {"Default"}, _major_versions(annotations))
        for gate in wanted:
            name = gate.removeprefix(_DISABLED)
            if name not in status:
                raise SuiteError(f"unable to find featureGate/{gate} to check for {manifest}")
        return all(status[gate.removeprefix(_DISABLED)] is not gate.startswith(_DISABLED) for gate in wanted)

    def _status(self, manifest: Path, profile: str, feature_sets: Collection[str], versions: set[int]) -> dict[str, bool]:
        for found, gates in self._payload(manifest):
            matches = profile in found and found.get(FEATURE_SET, "") in feature_sets
            if matches and (not versions or versions & _major_versions(found)):
                return gates
        raise SuiteError(f"no feature gates found for {manifest}: profile {profile}, feature sets {', '.join(sorted(feature_sets))}")

    def _payload(self, manifest: Path) -> list[tuple[Mapping[str, str], dict[str, bool]]]:
        folder = next((found for parent in manifest.parents if (found := parent.joinpath(*_PAYLOAD)).is_dir()), None)
        if folder is None:
            raise SuiteError(f"no folder {'/'.join(_PAYLOAD)} above {manifest}")
        if folder not in self._payloads:
            self._payloads[folder] = [_gates(path) for path in sorted(folder.rglob("*")) if path.is_file()]
        return self._payloads[folder]


def _gates(path: Path) -> tuple[Mapping[str, str], dict[str, bool]]:
    """Return the annotations of a file of feature gates, and which gates it enables and disables."""
    try:
        document: Any = parse(path.read_bytes())[0]
        first = document["status"]["featureGates"][0]
        gates = {each["name"]: True for each in first.get("enabled") or ()} | {each["name"]: False for each in first.get("disabled") or ()}
        return document["metadata"].get("annotations") or {}, gates
    except (OSError, FileProblem, LookupError, TypeError, AttributeError) as error:
        raise SuiteError(f"{path}: no feature gates: {error}") from error


def _major_versions(annotations: Mapping[str, str]) -> set[int]:
    text = next((value for name, value in annotations.items() if name.startswith(_MAJOR_VERSION)), "")
    return {int(part) for part in text.split(",") if part.strip().isdecimal()}
