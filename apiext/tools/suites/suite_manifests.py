"""The manifests that a suite applies to, each a variant of the suite."""

from __future__ import annotations

import re
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.base.meta.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from apiext.base.meta.encoding.documents import FileProblem, parse
from apiext.resources.definitions.composite_definition import KIND, composite_crds, is_composite_definition, without_owner
from apiext.tools.releases.crd_files import crds_of_file
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.manifests import SUFFIXES, read_files
from apiext.tools.releases.yaml_documents import documents
from apiext.tools.suites.model import SuiteError, SuiteVariant

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.tools.suites.model import Suite

_GVK: Final = CUSTOM_RESOURCE_DEFINITIONS.kind
_GENERATED: Final = "zz_generated.crd-manifests"
_SPEC: Final = re.compile(rb"^spec:[ \t]*$", re.MULTILINE)

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


class _Head(NamedTuple):
    """A manifest without its schema."""

    path: Path
    metadata: Object
    digest: str


class SuiteManifests:
    """Finds the manifests of suites. Reads each file once."""

    def __init__(self) -> None:
        self._gates = ManifestGates()
        self._folders: dict[Path, list[_Head]] = {}

    def variants(self, suite: Suite) -> list[SuiteVariant]:
        """Return a variant for each manifest that a suite applies to.

        Raises:
            SuiteError: there is none, or a file cannot be read.
        """
        places = suite.crds or [suite.path.parent / ".." / ".." / _GENERATED]
        heads = [head for place in places for head in self._heads(place, suite)]
        if not suite.crd_name:
            names = sorted({str(head.metadata.get("name")) for head in heads})
            if len(names) != 1:
                raise SuiteError(f"{suite.path}: {places[0]} does not have one CRD but {len(names)}: {', '.join(names)}".removesuffix(": "))
            suite = replace(suite, crd_name=names[0])
        found = [
            head
            for head in heads
            if head.metadata.get("name") == suite.crd_name
            and (suite.crds or self._gates.apply(head.metadata.get("annotations") or {}, suite.feature_gates, head.path))
        ]
        if not found:
            raise SuiteError(f"{suite.path}: no manifest of {suite.crd_name} in {', '.join(map(str, places))}")
        labels = _labels([head.path for head in found])
        return [SuiteVariant(suite, head.path, head.digest, label) for head, label in zip(found, labels, strict=True)]

    def _heads(self, place: Path, suite: Suite) -> list[_Head]:
        """Return the manifests of CRDs in a file or folder."""
        place = place.resolve()
        if place not in self._folders:
            try:
                paths = sorted(path for path in place.iterdir() if path.suffix in SUFFIXES) if place.is_dir() else [place]
                self._folders[place] = [head for path in paths for head in _heads(path)]
            except OSError as error:
                raise SuiteError(f"{suite.path}: {error.filename}: {error.strerror}") from error
        return self._folders[place]


def read_definition(path: Path, name: str) -> Object:
    """Return the definition with a name in a file or folder.

    Raises:
        SuiteError: the file cannot be read, or has no such definition.
    """
    try:
        for file in read_files([path]):
            for found in crds_of_file(file, []):
                if (found.object["kind"], found.object["metadata"]["name"]) == (_GVK.kind, name):
                    return without_owner(found.object)
    except SourceError as error:
        raise SuiteError(str(error)) from error
    raise SuiteError(f"{path}: has no CRD {name}")


def _heads(path: Path) -> Iterator[_Head]:
    """Yield what a file says of its definitions above their schemas; nothing if it is no manifest."""
    data = path.read_bytes()
    if not any(kind.encode() in data for kind in (_GVK.kind, KIND)):
        return
    # the schema below spec is nearly all of a manifest; it is read when it is needed
    spec, head = _SPEC.search(data), data
    if spec and KIND.encode() not in data and b"\n---" not in data and b"\nmetadata:" in data[: spec.start()]:
        head, data = data[: spec.start()], data[spec.start() :]
    digest = sha256(data).hexdigest()
    try:
        for document in documents(head):
            if not isinstance(document, dict) or not isinstance(document.get("metadata"), dict):
                continue
            if document.get("kind") == _GVK.kind:
                yield _Head(path, document["metadata"], digest)
            elif is_composite_definition(document):
                yield from (_Head(path, crd["metadata"], digest) for crd in composite_crds(document))
    except FileProblem:
        # as the runner of openshift/api: not all files are CRDs
        return
    except ValueError as error:
        raise SuiteError(f"{path}: {error}") from error


def _labels(paths: Sequence[Path]) -> list[str]:
    """Return short names of files that tell them apart."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]
