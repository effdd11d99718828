"""Admission in a worker process.

Webhooks and policies are applied there, to the whole objects of a job. The other plug-ins run in the server, which has their informers.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from apiext.api.admission.attributes import Admission, Attributes, Reinvocation
from apiext.api.admission.chain import Chain
from apiext.api.admission.dynamic import DynamicAdmission
from apiext.api.admission.metrics import AdmissionStats
from apiext.api.admission.sources import (
    ALL_PHASES,
    AccessSource,
    AdmissionSources,
    ConfigurationSource,
    NamespaceSource,
    ParamSource,
    ReviewCaller,
)
from apiext.base.workers.server_link import answers_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from apiext.api.admission.sources import AdmissionPhase, HookEntry, ParamQuery, PolicyEntry, RequestPlace, ReviewAnswer, ReviewCall
    from apiext.api.authorization.authorizer import Verdict
    from apiext.base.meta.encoding.json_codec import Object
    from apiext.base.meta.request import AdmissionOperation, RequestInfo, UserInfo
    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.workers.server_link import Answers, ServerLink

_SEEN: Final = ("name", "generateName")
"""The metadata fields that plug-ins in the server get. None of them reads or changes other parts of an object."""


class AdmissionCounts(Protocol):
    """The counts of admission in the server."""

    async def add(self, counted: AdmissionStats) -> None:
        """Add what a worker process has counted."""
        ...


@dataclass(frozen=True, slots=True)
class _AskedConfigurations:
    link: ServerLink

    def phases(self, _place: RequestPlace) -> Collection[AdmissionPhase]:
        # the plug-ins ask
        return ALL_PHASES

    def is_used(self, _phase: AdmissionPhase, *, webhooks: bool) -> bool:
        # what the server uses is imported before the process is forked
        return False

    async def webhooks(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[HookEntry]:
        return self.link.ask(ConfigurationSource.webhooks, phase, place)

    async def policies(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[PolicyEntry]:
        return self.link.ask(ConfigurationSource.policies, phase, place)


@dataclass(frozen=True, slots=True)
class _AskedNamespaces:
    link: ServerLink

    async def namespace(self, name: str) -> Object | None:
        return self.link.ask(NamespaceSource.namespace, name)


@dataclass(frozen=True, slots=True)
class _AskedParams:
    link: ServerLink

    async def is_namespaced(self, api_version: str, kind: str) -> bool | None:
        return self.link.ask(ParamSource.is_namespaced, api_version, kind)

    async def params(self, query: ParamQuery) -> Sequence[Object]:
        return self.link.ask(ParamSource.params, query)


@dataclass(frozen=True, slots=True)
class _AskedReviews:
    link: ServerLink

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        return self.link.ask(ReviewCaller.review, calls)


@dataclass(frozen=True, slots=True)
class _AskedAccess:
    link: ServerLink

    async def authorize(self, user: UserInfo, info: RequestInfo) -> Verdict:
        return self.link.ask(AccessSource.authorize, user, info)


def asked_sources(link: ServerLink) -> AdmissionSources:
    """Return the sources of a worker process, with counts of its own."""
    return AdmissionSources(
        configurations=_AskedConfigurations(link),
        namespaces=_AskedNamespaces(link),
        params=_AskedParams(link),
        reviews=_AskedReviews(link),
        access=_AskedAccess(link),
        stats=AdmissionStats(),
    )


@dataclass(frozen=True, slots=True)
class _ReviewsAside:
    """Implements ReviewCaller for a job: a slow webhook does not hold its process."""

    caller: ReviewCaller
    log: CallLog

    async def review(self, calls: Sequence[ReviewCall]) -> Sequence[ReviewAnswer]:
        return await self.log.call(tuple(call.key for call in calls), lambda: self.caller.review(calls))


@dataclass(frozen=True, slots=True)
class _ServerCounts:
    """Implements AdmissionCounts."""

    stats: AdmissionStats

    async def add(self, counted: AdmissionStats) -> None:
        self.stats.add(counted)


def source_answers(sources: AdmissionSources, log: CallLog | None) -> Answers:
    """Return the server's answers to the questions of the plug-ins in a job. With a log, webhooks are called by it."""
    reviews = sources.reviews if log is None else _ReviewsAside(sources.reviews, log)
    counts: AdmissionCounts = _ServerCounts(sources.stats)
    return {
        **answers_of(ConfigurationSource, sources.configurations),
        **answers_of(NamespaceSource, sources.namespaces),
        **answers_of(ParamSource, sources.params),
        **answers_of(ReviewCaller, reviews),
        **answers_of(AccessSource, sources.access),
        **answers_of(AdmissionCounts, counts),
    }


class RemoteAdmission(Admission):
    """Sends admit and validate calls to the server, and runs the plug-ins of webhooks and policies here."""

    def __init__(self, link: ServerLink, operations: Collection[AdmissionOperation], dynamic: Collection[str]) -> None:
        """Create the admission: the server's plug-ins handle the operations, and those with the names in `dynamic` run here."""
        self._in_server = frozenset(operations)
        self._link = link
        # jobs share what plug-ins have compiled
        made = link.kept.setdefault(DynamicAdmission, {})
        known: DynamicAdmission | None = made.get(tuple(dynamic))
        if known is None:
            known = made[tuple(dynamic)] = DynamicAdmission(asked_sources(link), dynamic)
        self._stats = known.sources.stats
        self._here = Chain(known.plugins, known, self._stats)

    def handles(self, operation: AdmissionOperation) -> bool:
        """Return whether any plug-in applies to an operation."""
        return operation in self._in_server or self._here.handles(operation)

    @property
    def dynamic(self) -> DynamicAdmission | None:
        """Return the plug-ins that run here."""
        return self._here.dynamic if self._here.plugins else None

    async def admit(self, attributes: Attributes) -> None:
        """Mutate the object of a write.

        Raises:
            StatusError: a plug-in rejects the write.
        """
        if attributes.operation in self._in_server:
            self._link.ask(Admission.admit, _seen(attributes))
        try:
            await self._here.admit(attributes)
        except BaseException:
            self._report()
            raise

    async def validate(self, attributes: Attributes) -> None:
        """Validate a write.

        Raises:
            StatusError: a plug-in rejects the write.
        """
        try:
            await self._here.validate(attributes)
        finally:
            self._report()
        if attributes.operation in self._in_server:
            self._link.ask(Admission.validate, _seen(attributes))

    def _report(self) -> None:
        """Send the counts of this process to the server."""
        if self._here.plugins:
            self._link.ask(AdmissionCounts.add, self._stats.take())


def admission_answers(admission: Admission, log: CallLog | None) -> Answers:
    """Return the server's answers to the questions of a RemoteAdmission."""
    answers = answers_of(Admission, admission.in_server())
    dynamic = admission.dynamic
    return answers if dynamic is None else {**answers, **source_answers(dynamic.sources, log)}


def _seen(attributes: Attributes) -> Attributes:
    return dataclasses.replace(
        attributes, new=_part(attributes.new), old=_part(attributes.old), objects=None, warnings=[], reinvocation=Reinvocation()
    )


def _part(obj: Object | None) -> Object | None:
    if obj is None:
        return None
    metadata = obj.get("metadata") or {}
    return {"metadata": {name: metadata[name] for name in _SEEN if name in metadata}}
