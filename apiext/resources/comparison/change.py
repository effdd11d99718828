"""A change between two definitions, as a comparison reports it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Hurts(StrEnum):
    """Whom a change may break."""

    NOBODY = "nobody"
    WRITERS = "writers"
    """Those who create, update, patch or apply: the server rejects what it accepted before, or merges it in another way."""
    CLIENTS = "clients"
    """Readers too: they get other data, or an error."""


class Grade(StrEnum):
    """How bad a change is."""

    IGNORE = "ignore"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Direction(StrEnum):
    """How a definition changes. The opposite change is REMOVED for ADDED, WIDENED for NARROWED, CHANGED for CHANGED."""

    ADDED = "added"
    REMOVED = "removed"
    NARROWED = "narrowed"
    """The server accepts less, or keeps less."""
    WIDENED = "widened"
    """The server accepts more, or keeps more."""
    CHANGED = "changed"
    """Neither includes the other, or that cannot be decided."""


class UngradedChange(NamedTuple):
    """A change as a rule finds it."""

    rule: str
    message: str
    path: str = ""
    """The field, as in Change; rules of keywords give the name of a property, or nothing for the value itself."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change between two definitions, or between two versions of one."""

    rule: str
    """Name of a rule in `rules.RULES`."""
    version: str
    """The version; "v1 -> v2" for two versions of one definition; empty for the whole definition."""
    path: str
    """The field, as errors about objects name it: `spec.hosts[].name`, `spec.labels[*]` for values of a map; empty for the root or none."""
    message: str
    """One sentence with the old and the new value."""
    hurts: Hurts
    grade: Grade
    reason: str = ""
    """Why the grades make an exception for this change; its grade is then IGNORE."""
