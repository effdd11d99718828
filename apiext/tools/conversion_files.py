"""The check of Conversion objects in files, with the definitions of a file, folder or cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules.check.document_check import CheckedDocument, check_document, crd_schemas, name_of
from apiext.resources.conversion.rules.model import GROUP, KIND
from apiext.resources.evaluation.fields import steps_of
from apiext.tools.places import open_release
from apiext.tools.releases.crd_files import release_of_paths
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.located_yaml import LocatedYAMLError, located
from apiext.tools.releases.manifests import read_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.places import Access
    from apiext.tools.releases.interface import Release
    from apiext.tools.releases.located_yaml import LocatedDocument
    from apiext.tools.releases.manifests import ManifestFile


_SEPARATOR: Final = re.compile(rb"^---(?=\s|$)", re.MULTILINE)
_WANTED: Final = KIND.encode()
_LINE: Final = re.compile(r"(?<=^line )\d+")
"""The line in the message of a LocatedYAMLError."""


@dataclass(frozen=True, slots=True)
class ConversionDocument:
    """A Conversion object in a file."""

    file: str
    value: Any
    """The object, which may be invalid but for its kind."""
    located: LocatedDocument
    lines_before: int

    def line(self, path: str) -> int:
        """Return the line, counted from 1, of the value that a finding names."""
        steps = steps_of(path, self.value) if path else []
        return self.lines_before + self.located.line(tuple(steps))


def conversion_documents(paths: Sequence[str]) -> list[ConversionDocument]:
    """Return the Conversion objects in files and folders.

    Raises:
        SourceError: a path cannot be read, a file is not YAML, or there is no Conversion object.
    """
    found = [document for file in read_files(paths) if _WANTED in file.data for document in _documents(file)]
    if not found:
        raise SourceError(f"there are no objects of kind {KIND} in {' '.join(paths)}")
    return found


def _documents(file: ManifestFile) -> Iterator[ConversionDocument]:
    begin = 0
    # a line --- is never a part of a value
    for end in [*(match.start() for match in _SEPARATOR.finditer(file.data)), len(file.data)]:
        part, before = file.data[begin:end], file.data.count(b"\n", 0, begin)
        begin = end
        if _WANTED not in part:
            continue
        try:
            document = located(part)
        except LocatedYAMLError as error:
            raise SourceError(f"{file.name}: {_in_file(str(error), before)}") from error
        value = document.value
        if isinstance(value, dict) and value.get("kind") == KIND and str(value.get("apiVersion", "")).startswith(f"{GROUP}/"):
            yield ConversionDocument(file.name, value, document, before)


def _in_file(message: str, before: int) -> str:
    """Return a message about a line of a part of a file as one about a line of the file."""
    return _LINE.sub(lambda found: str(int(found[0]) + before), message, count=1)


@dataclass(frozen=True, slots=True)
class CheckedConversion:
    """A Conversion object in a file, and what the check found."""

    document: ConversionDocument
    name: str
    """The name of the CRD."""
    definition: Definition | None
    """None if the object names no CRD."""
    found: CheckedDocument

    def as_document(self) -> Object:
        """Return the result for -o json."""
        report = self.found.report
        return {
            "file": self.document.file,
            "name": self.name,
            "valid": report.is_valid,
            "problems": [self._finding(each.path, each.message) for each in report.problems],
            "warnings": [self._finding(each.path, each.message) for each in report.warnings],
            "losses": [{"version": each.version, "path": each.path, "reason": each.reason} for each in report.losses],
            "carried": [{"version": each.version, "path": each.path, "to": each.target} for each in report.carried],
        }

    def _finding(self, path: str, message: str) -> Object:
        return {"path": path, "line": self.document.line(path), "message": message}


async def check_files(paths: Sequence[str], place: str | None, access: Access) -> list[CheckedConversion]:
    """Return the findings about all Conversion objects in files and folders.

    The definitions are at `place`, else in the same files.

    Raises:
        SourceError: a path or place cannot be read, or a definition is missing or refused.
    """
    documents = conversion_documents(paths)
    names = {name for document in documents if (name := name_of(document.value))}
    release = await (open_release(place, access, names=names) if place else release_of_paths(paths))
    return [_checked(document, release, place or "the same files; --crds says where it is") for document in documents]


def _checked(document: ConversionDocument, release: Release, place: str) -> CheckedConversion:
    name: Any = name_of(document.value)
    if name in release.refused:
        raise SourceError(f"{name}: {release.refused[name][0]}")
    definition = release.definitions.get(name)
    found = check_document(document.value, crd_schemas(definition.object) if definition is not None else None)
    if definition is None and found.rules is not None:
        raise SourceError(f"{document.file}:{document.line('metadata.name')}: there is no definition {name} in {place}")
    return CheckedConversion(document, name, definition, found)
