"""What a changed definition means for the objects: findings and counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

MAX_EXAMPLES = 10
"""Keys of objects that a finding names."""


class FindingKind(StrEnum):
    """What happens to the objects of a finding."""

    UNREADABLE = "unreadable"
    """A read fails."""
    UNKNOWN_VERSION = "unknown-version"
    """A file's object has an apiVersion that the new definition does not serve: it cannot be created or applied."""
    PRUNED = "pruned"
    """A read no longer gives a field."""
    DEFAULTED = "defaulted"
    """A read gives a field that it did not give before: a default, or a stored field that was hidden."""
    CHANGED = "changed"
    """A read gives another value."""
    INVALID = "invalid"
    """A create of the object, or a change of the field, is refused."""
    TOLERATED = "tolerated"
    """A rule or value is violated, but updates that do not change the value pass (ratcheting)."""
    STUCK = "stuck"
    """Every update is refused, even one of a label."""
    STUCK_STATUS = "stuck-status"
    """Every status update is refused."""
    LOST = "lost"
    """A write at one version, or a conversion there and back, drops a field."""
    ALTERED = "altered"
    """A write at one version, or a conversion there and back, changes a field that the writer did not change."""
    GAINED = "gained"
    """A write at one version, or a conversion there and back, adds a field."""
    RESURRECTED = "resurrected"
    """A field that was removed or changed at one version has its former value after a conversion there and back."""
    UNCONVERTIBLE = "unconvertible"
    """The webhook does not convert the object, or changes what it must not change."""
    CONFLICT = "conflict"
    """A repeated server-side apply of the same manifest now conflicts with another manager."""
    UNAPPLIED = "unapplied"
    """A repeated server-side apply of the same manifest now removes or changes a field."""
    APPLIER = "applier"
    """A server-side apply of the same manifest is refused."""
    MANAGER = "manager"
    """managedFields name a version that the new definition does not have. Every server-side apply then fails."""


@dataclass(slots=True)
class ObjectFinding:
    """The same thing that happens to several objects."""

    kind: FindingKind
    version: str
    """The version of the read or write; "" for all versions."""
    path: str
    """The field as in field errors, with [] in place of indices and keys of maps: spec.hosts[].name; "" for the whole object."""
    message: str
    """One plain sentence."""
    count: int = 0
    """The objects."""
    already: int = 0
    """Those of them that have the same problem under the old definition."""
    examples: list[str] = field(default_factory=list)
    """The keys of the first objects, at most MAX_EXAMPLES."""


@dataclass(frozen=True, slots=True)
class NotJudged:
    """A part that could not be judged."""

    what: str
    """"conversion", "reads under the old definition", ..."""
    reason: str


@dataclass(slots=True)
class ObjectsReport:
    """All objects of a definition under its change."""

    total: int = 0
    unchanged: int = 0
    """Objects without any finding."""
    only_new: int = 0
    """Those of all that do not exist yet, since only the new definition serves their version: they are judged as creates."""
    findings: list[ObjectFinding] = field(default_factory=list)
    """Ordered by kind (as FindingKind), version, path and message."""
    stored: dict[str, int] = field(default_factory=dict)
    """Objects by the version of their bytes, or of the source. Names of versions."""
    stored_is_exact: bool = True
    """Whether all objects are as they are stored."""
    unreadable: int = 0
    invalid: int = 0
    """Objects that could not be created in some served version, or not get their status then if that is a subresource."""
    tolerated: int = 0
    """Those of them whose unrelated updates pass in every served version."""
    stuck: int = 0
    """Objects of which every update is refused in some served version."""
    cost_share: float = 0.0
    """The largest share of the rules' cost budget that an object uses: 1 is the limit of an object or of one expression."""
    cost_object: str = ""
    """The key of that object; "" without rules."""
    not_judged: list[NotJudged] = field(default_factory=list)
