"""The sources of plug-ins in a worker process: they ask the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

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
    from apiext.base.meta.request import RequestInfo, UserInfo
    from apiext.base.scheduling.call_log import CallLog
    from apiext.base.workers.server_link import Answers, ServerLink


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
