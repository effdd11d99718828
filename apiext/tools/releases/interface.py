"""Definitions and objects of one source, whatever the source is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Mapping, Sequence

    from apiext.base.meta.encoding.json_codec import Object
    from apiext.resources.definitions.definition import Definition


class SourceError(Exception):
    """A source cannot be read. The message is one line that names the source and the reason."""


@dataclass(frozen=True, slots=True)
class Release:
    """The definitions that a source has."""

    origin: str
    """The source in words, for people: "config/crd", "git v1.2.0", "cluster kind-dev"."""
    definitions: Mapping[str, Definition]
    """Definitions by name, as a server would store them: defaulted, with a status. Refused ones are not here."""
    refused: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The reasons why a server refuses to create a definition, by the definition's name."""
    is_live: bool = False
    """Whether the status of the definitions (storedVersions) comes from a server. Otherwise it is that of a new definition."""
    drafts: Mapping[str, Object] = field(default_factory=dict)
    """The refused definitions by name, in canonical form. An update may be accepted where a creation is refused."""
    conversions: Mapping[str, Object] = field(default_factory=dict)
    """Conversions by the name of their definition."""
    remarks: Sequence[str] = ()
    """What the reader left out, one line each: unknown fields, patches, and files that are no manifests."""


@dataclass(frozen=True, slots=True)
class SourceObject:
    """An object of a source. Its apiVersion is the version that the source gave, or stores."""

    key: str
    """NAMESPACE/NAME, or NAME of a cluster-scoped object."""
    object: Object
    """Must not be changed."""
    is_stored: bool = False
    """Whether this is the object as it is stored: its apiVersion is the stored version. Otherwise a server or a file gave it."""
    problem: str = ""
    """The reason why the stored bytes cannot be read, such as encryption; `object` is then empty."""


def is_wanted(name: str, names: Collection[str] | None, groups: Collection[str] = ()) -> bool:
    """Report whether a definition is one of the named ones or of groups. Every one is without names."""
    return names is None or name in names or name.partition(".")[2] in groups


class ObjectSource(Protocol):
    """Reads objects of definitions.

    Raises:
        SourceError: from every method, if the source cannot be read.
    """

    @property
    def origin(self) -> str:
        """Return the source in words, for people."""
        ...

    async def count(self, definition: Definition) -> int | None:
        """Return how many objects of a definition there are, about; None if that is not known before they are read."""
        ...

    def pages(self, definition: Definition) -> AsyncGenerator[Sequence[SourceObject]]:
        """Yield the objects of a definition in pages of at most 500, in the order of their keys."""
        ...

    async def close(self) -> None:
        """Close connections and files, and delete temporary ones."""
        ...


class WholeSource(ObjectSource, Protocol):
    """Reads definitions with their objects."""

    async def release(self, names: Collection[str] | None = None, *, groups: Collection[str] = ()) -> Release:
        """Return the release of the source: the named definitions that it has and those of groups, or all.

        Raises:
            SourceError: the source cannot be read.
        """
        ...


@runtime_checkable
class StoredCounter(Protocol):
    """Counts objects by the version of their stored bytes without reading them.

    Raises:
        SourceError: from every method, if the source cannot be read.
    """

    async def counts_stored(self) -> bool:
        """Report whether the source can count stored objects. Only a server of apiext can, for users who may read /stored."""
        ...

    async def stored_counts(self, definition: Definition) -> tuple[Mapping[str, int], int]:
        """Return the objects of a definition by version, and the number of those that name no version."""
        ...
