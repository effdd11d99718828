"""The parts of the map: one entry for each definition, apart from the names of objects in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from apiext.base.meta.builtin_resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    MUTATING_ADMISSION_POLICIES,
    MUTATING_WEBHOOK_CONFIGURATIONS,
    STORAGE_VERSION_MIGRATIONS,
    VALIDATING_ADMISSION_POLICIES,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from apiext.base.meta.encoding import json_codec

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupVersionResource

DEFINITIONS: Final = CUSTOM_RESOURCE_DEFINITIONS.resource
MIGRATIONS: Final = STORAGE_VERSION_MIGRATIONS.resource
GUARDS: Final = {
    one.plural: one.resource
    for one in (
        MUTATING_WEBHOOK_CONFIGURATIONS,
        MUTATING_ADMISSION_POLICIES,
        VALIDATING_WEBHOOK_CONFIGURATIONS,
        VALIDATING_ADMISSION_POLICIES,
    )
}
"""The resources that configure admission, by plural, in the order in which they apply."""


NamesShown = tuple[bool, ...]
"""Which of the parts of an entry that name objects a reader sees, in their order."""
_MAX_ENCODED: Final = 4
"""Kinds of rights for which an entry is kept encoded: with all names, without any, and some between."""


class NamedPart(NamedTuple):
    """A part of an entry that names objects of a resource."""

    key: str
    resource: GroupVersionResource
    """The resource of these objects. Their names are for users with the right to list the resource in all namespaces."""
    items: Sequence[Object]


@dataclass(frozen=True, slots=True)
class DefinitionEntry:
    """A definition on the map."""

    shown: Object
    """What every reader of the map gets. Readers share this object: do not change it."""
    named: tuple[NamedPart, ...] = ()
    """Without empty parts."""
    _encoded: dict[NamesShown, bytes] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Return the name of the definition."""
        name: str = self.shown["name"]
        return name

    def encoded(self, names: NamesShown) -> bytes:
        """Return the entry in JSON with its `names` as far as they are shown, and the `hidden` parts by the resource that is not listed.

        Readers with the same rights share the bytes.
        """
        found = self._encoded.get(names)
        if found is None:
            shown = {part.key: part.items for part, is_shown in zip(self.named, names, strict=True) if is_shown}
            hidden = {part.key: str(part.resource.group_resource) for part in self.named if part.key not in shown}
            found = json_codec.dumps(self.shown | {"names": shown, "hidden": hidden}, sort_keys=False)
            if len(self._encoded) < _MAX_ENCODED:
                self._encoded[names] = found
        return found


@dataclass(frozen=True, slots=True)
class ProblemReport:
    """The stored objects of a definition that are invalid today or unreadable, as far as they were checked."""

    checked: int = 0
    """Number of checked objects."""
    is_complete: bool = False
    """Whether all objects were checked."""
    invalid: int = 0
    unreadable: int = 0
    items: tuple[Object, ...] = ()
    """The first of them, as in the document `/stored/invalid`."""
    error: str = ""
    """Why the check ended early."""

    def summary(self) -> Object:
        """Return the report without names of objects."""
        return {
            "checked": self.checked,
            "complete": self.is_complete,
            "invalid": self.invalid,
            "unreadable": self.unreadable,
            "failed": bool(self.error),
        }


class RulesState(NamedTuple):
    """The declarative conversion rules of a definition."""

    problems: tuple[str, ...] = ()
    """What is wrong with them."""


class MigrationProgressShown(NamedTuple):
    """A migration of the objects of a definition."""

    name: str
    state: str
    """pending, running, succeeded or failed."""
    created: str
    message: str = ""
    left: int | None = None
    """Objects that are not migrated yet, None if that is not known."""
    total: int | None = None


class MigrationWay(Enum):
    """How the objects of a definition are migrated to its storage version."""

    AUTOMATIC = "automatic"
    """By the server itself."""
    REQUESTED = "requested"
    """By a StorageVersionMigration that somebody creates."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ConversionFacts:
    """The conversion of the objects of a definition, as this server has observed it."""

    routes: Sequence[Object] = ()
    """Conversions by source and target version."""
    error: str = ""
    """The latest error of the webhook while its circuit is open, else empty."""
    is_open: bool = False
    rules: RulesState | None = None
    """None without declarative rules."""


@dataclass(frozen=True, slots=True)
class DefinitionFacts:
    """All that an entry shows apart from the definition and its counts."""

    problems: ProblemReport | None = None
    """None if the objects were not checked."""
    conversion: ConversionFacts = field(default_factory=ConversionFacts)
    migrations: Sequence[MigrationProgressShown] = ()
    migration: MigrationWay = MigrationWay.NONE
    guards: Mapping[str, Sequence[Object]] | None = None
    """Webhooks and policies by plural, None if they are not known."""
