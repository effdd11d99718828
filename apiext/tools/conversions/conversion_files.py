"""Conversion objects in files, with the line of each value."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from apiext.resources.conversion.rules.model import GROUP, KIND
from apiext.tools.judgement.field_paths import steps_of
from apiext.tools.releases.interface import SourceError
from apiext.tools.releases.located_yaml import LocatedYAMLError, located
from apiext.tools.releases.manifests import read_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
