"""What jobs in worker processes may call in the server, beside the store and admission: interfaces and the answers to them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Protocol

from apiext.base.workers.server_link import answers_of
from apiext.resources.conversion.calls import ConversionCalls, LoggedCalls

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.gvk import GroupResource
    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.workers.server_link import Answers
    from apiext.resources.conversion.metrics import RulesCounts, RulesStats
    from apiext.resources.registry.customresourcedefinition import CustomResourceDefinitionRest
    from apiext.storage.interface import Item
    from apiext.storage.stored_bytes.version_counts import StoredCounts


class DefinitionSource(Protocol):
    """The definition that a job is about."""

    async def definition(self) -> Item:
        """Return the definition."""
        ...


class RulesSource(Protocol):
    """The conversion rules of the definition that a job is about."""

    async def rules(self) -> GivenRules:
        """Return the rules."""
        ...

    async def count(self, conversions: RulesCounts) -> None:
        """Count the conversions of a job."""
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
class GivenRules:
    """A Conversion, as the server uses it."""

    document: Object
    digest: str
    _: KW_ONLY
    in_use: bool
    """Whether problems of the check do not stop the rules."""

    @property
    def state(self) -> str:
        """Return what identifies these rules in this use."""
        return f"{self.digest} in use" if self.in_use else self.digest


@dataclass(frozen=True, slots=True)
class _GivenDefinition:
    """Implements DefinitionSource."""

    item: Item

    async def definition(self) -> Item:
        """Implement DefinitionSource.definition."""
        return self.item


@dataclass(frozen=True, slots=True)
class _CountedRules:
    """Implements RulesSource."""

    given: GivenRules
    stats: RulesStats

    async def rules(self) -> GivenRules:
        """Implement RulesSource.rules."""
        return self.given

    async def count(self, conversions: RulesCounts) -> None:
        """Implement RulesSource.count."""
        self.stats.add(conversions)


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


def definition_answers(item: Item) -> Answers:
    """Return the answers to the calls of a DefinitionSource about a definition."""
    source: DefinitionSource = _GivenDefinition(item)
    return answers_of(DefinitionSource, source)


def rules_answers(given: GivenRules | None, stats: RulesStats) -> Answers:
    """Return the answers to the calls of a RulesSource, none without rules. Conversions are counted in `stats`."""
    if given is None:
        return {}
    source: RulesSource = _CountedRules(given, stats)
    return answers_of(RulesSource, source)


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
