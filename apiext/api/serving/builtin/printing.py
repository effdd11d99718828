"""Parts of Table columns of built-in kinds (kubernetes pkg/printers/internalversion)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from apiext.api.endpoints.responsewriters.human_duration import age
from apiext.api.endpoints.responsewriters.table import CREATED_DESCRIPTION, NAME, Cell, Column, TableConvertor
from apiext.base.meta.encoding.json_codec import Object


def at(*path: str) -> Cell:
    """Return a cell function that prints one field, "" if it is missing."""

    def cell(obj: Object, _now: datetime) -> Any:
        value: Any = obj
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return "" if value is None else value

    return cell


def text(name: str, description: str, cell: Cell, *, priority: int = 0) -> Column:
    """Return a column of text."""
    return Column(name, "string", description=description, cell=cell, priority=priority)


def _created(obj: Object, now: datetime) -> Any:
    return age(obj["metadata"].get("creationTimestamp") or "", now)


AGE: Final = text("Age", CREATED_DESCRIPTION, _created)
"""The column of an object's age."""
PLAIN_TABLE: Final = TableConvertor(
    (NAME, Column("Created At", "date", description=CREATED_DESCRIPTION, cell=at("metadata", "creationTimestamp")))
)
"""The table of kinds without columns of their own."""
