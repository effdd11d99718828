"""Manifests: the Kubernetes objects in YAML and JSON files."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from apiext.base.meta.encoding.documents import FileProblem
from apiext.base.meta.encoding.json_values import is_deeper
from apiext.base.meta.limits import MAX_DEPTH
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.yaml_documents import documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object

SUFFIXES: Final = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A file's content, wherever it comes from."""

    name: str
    """The name for people, as a path."""
    data: bytes
    is_chosen: bool = True
    """Whether the user named this file, not its folder."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object in a file."""

    place: str
    """The file, and the part of it: "crds/all.yaml: document 2"."""
    object: Object


def read_files(paths: Sequence[str | Path]) -> Iterator[ManifestFile]:
    """Yield the manifest files among paths: the named files, and those in named folders and their subfolders that are not hidden.

    Raises:
        SourceError: a path does not exist or cannot be read.
    """
    for given in paths:
        path = Path(given).expanduser()
        try:
            if path.is_dir():
                for found in _files(path):
                    yield ManifestFile(str(found), found.read_bytes(), is_chosen=False)
            else:
                yield ManifestFile(str(path), path.read_bytes())
        except OSError as error:
            raise SourceError(f"{error.filename or path}: {error.strerror or error}") from error


def is_manifest_name(name: str) -> bool:
    """Report whether a relative path in a folder may be a manifest: a YAML or JSON file that is not hidden."""
    return name.endswith(SUFFIXES) and not any(part.startswith(".") for part in name.split("/"))


def manifests(file: ManifestFile, *, wanted: bytes = b"") -> Iterator[Manifest | str]:
    """Yield the objects of a file, and those in its lists. Yield a remark for what is no manifest.

    `wanted` is a text in each file of interest. A file with it must be readable, as one that the user named.

    Raises:
        SourceError: such a file is not YAML or JSON.
    """
    if wanted not in file.data:
        return
    has_several, number = b"\n---" in file.data, 0
    try:
        for document in documents(file.data):
            number += 1
            yield from _flattened(document, f"{file.name}: document {number}" if has_several else file.name)
    except FileProblem as problem:
        if wanted or file.is_chosen:
            raise SourceError(f"{file.name}: {problem}") from problem
        yield f"{file.name}: left out{f' after document {number}' if number else ''}: {problem}"


def _files(folder: Path) -> Iterator[Path]:
    """Yield the manifest files of a folder, in order. Follow links to files, of which mounted ConfigMaps consist."""
    for parent, folders, names in os.walk(folder, onerror=_fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in sorted(names) if is_manifest_name(name))


def _fail(error: OSError) -> None:
    raise error


def _flattened(document: Any, place: str) -> Iterator[Manifest | str]:
    if is_deeper(document, MAX_DEPTH):
        yield f"{place}: left out: nested deeper than {MAX_DEPTH} levels"
        return
    if not isinstance(document, dict) or not isinstance(document.get("kind"), str) or not isinstance(document.get("apiVersion"), str):
        yield f"{place}: left out: has no apiVersion and kind"
        return
    items = document.get("items")
    if not document["kind"].endswith("List") or not isinstance(items, list):
        yield Manifest(place, document)
        return
    # the items of a typed list may have neither apiVersion nor kind
    head = {} if document["kind"] == "List" else {"apiVersion": document["apiVersion"], "kind": document["kind"].removesuffix("List")}
    for index, item in enumerate(items):
        yield from _flattened(head | item if isinstance(item, dict) else item, f"{place}: items[{index}]")
