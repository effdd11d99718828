"""Reads the files of a folder (apiserver pkg/admission/plugin/manifest/loader.go)."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from apiext.base.meta.encoding.documents import FileProblem, parse

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})


class ManifestError(ValueError):
    """The files of a folder cannot be used. The text says why."""


class Manifests(NamedTuple):
    """The documents of a folder."""

    documents: list[tuple[Path, Any]]
    """The documents that are not empty, with their files, which are in the order of their names."""
    digest: str
    """A hash of all files; empty if there is no data."""


def read_manifests(folder: Path) -> Manifests:
    """Return the documents of the YAML and JSON files of a folder, without its subfolders.

    Raises:
        ManifestError: a file cannot be read, or is neither YAML nor JSON.
    """
    documents: list[tuple[Path, Any]] = []
    digest, has_data = hashlib.sha256(), False
    try:
        files = sorted((path for path in folder.iterdir() if not path.is_dir()), key=lambda path: path.name)
        for path in files:
            data = path.read_bytes() if path.suffix.lower() in _SUFFIXES else b""
            if not data:
                continue
            has_data = True
            digest.update(data + b"\0")
            documents += [(path, document) for document in _parse(path, data)]
    except OSError as error:
        raise ManifestError(f"failed to read manifest directory {str(folder)!r}: {error}") from error
    return Manifests(documents, f"sha256:{digest.hexdigest()}" if has_data else "")


def _parse(path: Path, data: bytes) -> list[Any]:
    try:
        return parse(data)
    except FileProblem as error:
        raise ManifestError(f"error loading {path}: {error}") from error
