"""The check of Conversion objects in files, with the definitions of a file, folder or cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from apiext.resources.conversion.rules.check.document_check import check_document, crd_schemas, name_of
from apiext.tools.conversions.conversion_files import conversion_documents
from apiext.tools.places import open_release
from apiext.tools.releases.crd_files import release_of_paths
from apiext.tools.releases.interface import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.conversion.rules.check.report import CheckReport, RuleFinding
    from apiext.resources.conversion.rules.model import ConversionRules
    from apiext.resources.definitions.definition import Definition
    from apiext.tools.conversions.conversion_files import ConversionDocument
    from apiext.tools.places import Access
    from apiext.tools.releases.interface import Release


@dataclass(frozen=True, slots=True)
class CheckedConversion:
    """A Conversion object in a file, and what the check found."""

    document: ConversionDocument
    name: str
    """The name of the CRD."""
    definition: Definition | None
    """None if the object names no CRD."""
    rules: ConversionRules | None
    """None if the form of the object is wrong."""
    report: CheckReport

    def as_document(self) -> Object:
        """Return the result for -o json."""
        return {
            "file": self.document.file,
            "name": self.name,
            "valid": self.report.is_valid,
            "problems": [self._finding(each) for each in self.report.problems],
            "warnings": [self._finding(each) for each in self.report.warnings],
            "losses": [{"version": each.version, "path": each.path, "reason": each.reason} for each in self.report.losses],
            "carried": [{"version": each.version, "path": each.path, "to": each.target} for each in self.report.carried],
        }

    def _finding(self, found: RuleFinding) -> Object:
        return {"path": found.path, "line": self.document.line(found.path), "message": found.message}


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
    rules, report = check_document(document.value, crd_schemas(definition.object) if definition is not None else None)
    if definition is None and rules is not None:
        raise SourceError(f"{document.file}:{document.line('metadata.name')}: there is no definition {name} in {place}")
    return CheckedConversion(document, name, definition, rules, report)
