"""The manifests that a suite applies to, each a variant of the suite."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.definitions.codec import GVK
from apiext.definitions.sources.crd_documents import FileProblem
from apiext.lab.releases.interface import SourceError
from apiext.lab.releases.manifests import SUFFIXES, manifests, read_files
from apiext.lab.releases.yaml_documents import documents
from apiext.lab.suites.feature_gates import ManifestGates
from apiext.lab.suites.model import SuiteError, SuiteVariant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from apiext.lab.suites.model import Suite
    from apiext.meta.encoding.json_codec import Object

_GENERATED: Final = "zz_generated.crd-manifests"
_SPEC: Final = re.compile(rb"^spec:[ \t]*$", re.MULTILINE)


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
        found = [
            head
            for place in places
            for head in self._heads(place, suite)
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
            for found in manifests(file, wanted=name.encode()):
                if isinstance(found, str) or found.object["kind"] != GVK.kind:
                    continue
                if (found.object.get("metadata") or {}).get("name") == name:
                    return found.object
    except SourceError as error:
        raise SuiteError(str(error)) from error
    raise SuiteError(f"{path}: has no CRD {name}")


def _heads(path: Path) -> Iterator[_Head]:
    """Yield what a file says of its definitions above their schemas; nothing if it is no manifest."""
    data = path.read_bytes()
    if GVK.kind.encode() not in data:
        return
    # the schema below spec is nearly all of a manifest; it is read when it is needed
    spec, head = _SPEC.search(data), data
    if spec and b"\n---" not in data and b"\nmetadata:" in data[: spec.start()]:
        head, data = data[: spec.start()], data[spec.start() :]
    digest = sha256(data).hexdigest()
    try:
        for document in documents(head):
            if isinstance(document, dict) and document.get("kind") == GVK.kind and isinstance(document.get("metadata"), dict):
                yield _Head(path, document["metadata"], digest)
    except FileProblem:
        # as the runner of openshift/api: not all files are CRDs
        return


def _labels(paths: Sequence[Path]) -> list[str]:
    """Return short names of files that tell them apart."""
    names = [path.name for path in paths]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]
