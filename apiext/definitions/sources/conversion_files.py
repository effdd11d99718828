"""Conversions from the files of a folder, beside definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.conversion.known import KnownConversions, Origin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from apiext.meta.encoding.json_codec import Object


class ConversionFiles:
    """Keeps the Conversions of files. Their rules end with their files."""

    def __init__(self, known: KnownConversions) -> None:
        self._known = known
        self._files: dict[Path, Sequence[Object]] = {}

    def put(self, path: Path, documents: Sequence[Object]) -> list[tuple[str, str]]:
        """Take the Conversions that a file has now. Return the problem of each invalid one, after its name."""
        if not documents and path not in self._files:
            return []
        self._files[path] = documents
        self._update()
        return [(_name(document), problem) for document in documents if (problem := self._problem(path, document))]

    def remove(self, path: Path) -> None:
        """Forget a file."""
        if self._files.pop(path, None):
            self._update()

    def other(self, path: Path, name: str) -> Path | None:
        """Return another file with the Conversion, which applies; None if that of this file does."""
        first = next((known for known, documents in sorted(self._files.items()) if name in map(_name, documents)), path)
        return None if first == path else first

    def _update(self) -> None:
        found: dict[str, Object] = {}
        for _, documents in sorted(self._files.items()):
            for document in documents:
                found.setdefault(_name(document), document)
        self._known.replace(Origin.FILE, list(found.values()))

    def _problem(self, path: Path, document: Object) -> str:
        # Imported with the first rules: most folders have none.
        from apiext.conversion.rules.errors import InvalidConversionError
        from apiext.conversion.rules.parse import parse_rules

        other = self.other(path, _name(document))
        if other is not None:
            return f"is already defined in {other.name}"
        try:
            parse_rules(document)
        except InvalidConversionError as error:
            return str(error)
        return ""


def _name(document: Object) -> str:
    name: str = document["metadata"]["name"]
    return name
