"""Conversions from the files of a folder, beside definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.resources.conversion.known import KnownConversions, Origin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from apiext.base.meta.encoding.json_codec import Object


class ConversionFiles:
    """Keeps the Conversions of files. Their rules end with their files, and go on while a file cannot be parsed."""

    def __init__(self, known: KnownConversions) -> None:
        self._known = known
        self._files: dict[Path, Sequence[Object]] = {}
        self._unread: set[Path] = set()
        """Files that cannot be parsed, and could not before."""

    def put(self, path: Path, documents: Sequence[Object], *, is_complete: bool = True) -> list[tuple[str, str]]:
        """Take the Conversions that a file has now. Return the problem of each invalid one, after its name.

        Those that the file had before stay unless it `is_complete`: without their rules, objects would lose fields.
        """
        is_unread = not is_complete and (path not in self._files or path in self._unread)
        if documents or path in self._files:
            names = set(map(_name, documents))
            kept = [] if is_complete else [known for known in self._files.get(path, ()) if _name(known) not in names]
            self._files[path] = [*documents, *kept]
            self._update()
        self._note_unread(path, is_unread=is_unread)
        return [(_name(document), problem) for document in documents if (problem := self._problem(path, document))]

    def remove(self, path: Path) -> None:
        """Forget a file."""
        if self._files.pop(path, None):
            self._update()
        self._note_unread(path, is_unread=False)

    def other(self, path: Path, name: str) -> Path | None:
        """Return another file with the Conversion, which applies; None if that of this file does."""
        first = next((known for known, documents in sorted(self._files.items()) if name in map(_name, documents)), path)
        return None if first == path else first

    def _note_unread(self, path: Path, *, is_unread: bool) -> None:
        if is_unread:
            self._unread.add(path)
        else:
            self._unread.discard(path)
        names = ", ".join(sorted(each.name for each in self._unread))
        self._known.set_unread(f"conversion rules may be in a file that cannot be read: {names}" if names else "")

    def _update(self) -> None:
        found: dict[str, Object] = {}
        for _, documents in sorted(self._files.items()):
            for document in documents:
                found.setdefault(_name(document), document)
        self._known.replace(Origin.FILE, list(found.values()))

    def _problem(self, path: Path, document: Object) -> str:
        # Imported with the first rules: most folders have none.
        from apiext.resources.conversion.rules.interface import InvalidConversionError
        from apiext.resources.conversion.rules.parsing.document_parser import parse_rules

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
