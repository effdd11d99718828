"""The chapters of the life: states of the definition, each with the versions for clients."""

from dataclasses import dataclass
from typing import Any, Final

from hack.lib.life.definition import NEW, OLD, crd


@dataclass(frozen=True)
class Chapter:
    """A state of the definition. With `migrates`, a StorageVersionMigration follows."""

    title: str
    served: tuple[str, ...]
    storage: str
    stored: tuple[str, ...]
    """status.storedVersions at the end."""
    dropped: str = ""
    converts: bool = True
    tight: bool = False
    migrates: bool = False

    def crd(self, webhook: dict[str, Any] | None) -> Any:
        """Return the definition; `webhook` is the clientConfig of its webhook, None without one."""
        conversion = webhook if self.converts else None
        return crd(stored=self.storage, served=self.served, dropped=self.dropped, tight=self.tight, webhook=conversion)


_BOTH: Final = (OLD, NEW)

CHAPTERS: Final = (
    Chapter(f"{OLD} is served and stored", (OLD,), OLD, (OLD,), dropped=NEW, converts=False),
    Chapter(f"{NEW} is served, too, with a conversion webhook", _BOTH, OLD, (OLD,)),
    Chapter(f"{NEW} becomes the storage version", _BOTH, NEW, _BOTH),
    Chapter("stored objects are migrated", _BOTH, NEW, (NEW,), migrates=True),
    Chapter(f"the schema of {NEW} is tightened", _BOTH, NEW, (NEW,), tight=True),
    Chapter(f"{OLD} is no longer served", (NEW,), NEW, (NEW,), tight=True),
    Chapter(f"{OLD} is dropped", (NEW,), NEW, (NEW,), tight=True, dropped=OLD, converts=False),
    Chapter(f"rollback: {OLD} is served and stored again", _BOTH, OLD, (NEW, OLD)),
    Chapter("rollback: stored objects are migrated back", _BOTH, OLD, (OLD,), migrates=True),
    Chapter(f"forward again: {NEW} is stored, objects are migrated", _BOTH, NEW, (NEW,), tight=True, migrates=True),
    Chapter(f"forward again: {OLD} is dropped", (NEW,), NEW, (NEW,), tight=True, dropped=OLD, converts=False),
)
