"""Judges the objects of one definition that is replaced by another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiext.lab.judgement.outcome import ObjectsReport

if TYPE_CHECKING:
    from collections.abc import Sequence

    from apiext.definitions.definition import Definition
    from apiext.lab.judgement.converters import Converters
    from apiext.lab.releases.interface import SourceObject


class Judge:
    """Judges objects page by page. It keeps no object."""

    def __init__(self, old: Definition | None, new: Definition, *, converters: Converters) -> None:
        """Prepare the judgement. Without `old`, the objects are to be created."""
        self._old = old
        self._new = new
        self._converters = converters
        self._report = ObjectsReport()

    async def add(self, page: Sequence[SourceObject]) -> None:
        """Judge a page of objects."""

    async def rewritten(self, page: Sequence[SourceObject]) -> list[SourceObject]:
        """Return the objects as the new definition stores them after a write that changes nothing, such as a migration's.

        Objects that cannot be written stay as they are. The judge with the definitions exchanged judges the result: the rollback.
        """
        return list(page)

    def report(self) -> ObjectsReport:
        """Return the judgement of all objects so far."""
        return self._report
