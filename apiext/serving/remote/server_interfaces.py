"""What jobs in worker processes may call in the server, beside the store and admission: interfaces and the answers to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from apiext.conversion.calls import ConversionCalls, LoggedCalls
from apiext.workers.server_link import answers_of

if TYPE_CHECKING:
    from apiext.meta.encoding.json_codec import Object
    from apiext.meta.gvk import GroupResource
    from apiext.registry.customresourcedefinition import CustomResourceDefinitionRest
    from apiext.scheduling.call_log import CallLog
    from apiext.storage.interface import Item
    from apiext.storage.stored.version_counts import StoredCounts
    from apiext.workers.server_link import Answers


class DefinitionSource(Protocol):
    """The definition that a job is about."""

    async def definition(self) -> Item:
        """Return the definition."""
        ...

    async def rules(self) -> Object | None:
        """Return the Conversion of the definition, None without any."""
        ...


class ServerDefinitions(Protocol):
    """What writes of definitions need."""

    async def observe(self, item: Item) -> None:
        """Put a definition into the catalog."""
        ...

    async def forget(self, name: str, revision: int) -> None:
        """Remove a deleted definition from the catalog."""
        ...

    async def count_stored(self, resource: GroupResource) -> StoredCounts:
        """Return the number of stored objects of a resource by version.

        Raises:
            BackendError: they cannot be counted.
        """
        ...


@dataclass(frozen=True, slots=True)
class _GivenDefinition:
    """Implements DefinitionSource."""

    item: Item
    conversion: Object | None

    async def definition(self) -> Item:
        """Implement DefinitionSource.definition."""
        return self.item

    async def rules(self) -> Object | None:
        """Implement DefinitionSource.rules."""
        return self.conversion


@dataclass(frozen=True, slots=True)
class _WrittenDefinitions:
    """Implements ServerDefinitions."""

    rest: CustomResourceDefinitionRest

    async def observe(self, item: Item) -> None:
        """Implement ServerDefinitions.observe."""
        self.rest.observe(item)

    async def forget(self, name: str, revision: int) -> None:
        """Implement ServerDefinitions.forget."""
        self.rest.forget(name, revision)

    async def count_stored(self, resource: GroupResource) -> StoredCounts:
        """Implement ServerDefinitions.count_stored."""
        return await self.rest.guard.count(resource)


def definition_answers(item: Item, conversion: Object | None) -> Answers:
    """Return the answers to the calls of a DefinitionSource about a definition and its Conversion."""
    source: DefinitionSource = _GivenDefinition(item, conversion)
    return answers_of(DefinitionSource, source)


def written_answers(rest: CustomResourceDefinitionRest) -> Answers:
    """Return the answers to the calls of ServerDefinitions."""
    definitions: ServerDefinitions = _WrittenDefinitions(rest)
    return answers_of(ServerDefinitions, definitions)


def conversion_answers(calls: ConversionCalls | None, log: CallLog | None) -> Answers:
    """Return the answers to the calls of a converter's copies, if it has any. With a log, webhooks are called by it."""
    if calls is None:
        return {}
    made: ConversionCalls = calls if log is None else LoggedCalls(calls, log)
    return answers_of(ConversionCalls, made)
