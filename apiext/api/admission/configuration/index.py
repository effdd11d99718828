"""All configurations of a server: those of files, and those of the API."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from apiext.api.admission.configuration.followed import FollowedObjects, FollowedPolicies, FollowedWebhooks
from apiext.api.admission.configuration.place_index import MAX_PLACES
from apiext.api.admission.matching.exemptions import REGISTRATION_GROUP
from apiext.api.admission.sources import ALL_PHASES, AdmissionPhase, HookEntry, NotReadyError, PolicyEntry, RequestPlace

_READY_TIMEOUT: Final = 10.0
"""Seconds for which a write waits for the first lists (apiserver pkg/admission/handler.go, timeToWaitForReady)."""
_POLICIES: Final = frozenset(f"{phase}admissionpolic{ending}" for phase in ("mutating", "validating") for ending in ("ies", "ybindings"))
_KINDS: Final = {AdmissionPhase.MUTATING: "Mutating", AdmissionPhase.VALIDATING: "Validating"}


@dataclass(frozen=True, slots=True, eq=False)
class _Phase:
    webhooks: FollowedWebhooks
    policies: FollowedPolicies


class ConfigurationIndex:
    """Implements admission.sources.ConfigurationSource. A change that a follower reports applies at once."""

    def __init__(self, *, ready_timeout: float = _READY_TIMEOUT) -> None:
        self._ready_timeout = ready_timeout
        self._api = _phases()
        self._files = _phases("manifest/")
        self._finds = [
            (phase, find)
            for phases in (self._api, self._files)
            for phase, one in phases.items()
            for find in (one.webhooks.find, one.policies.find)
        ]
        self._synced = False
        """Whether all objects have been listed, which is looked up until they are."""
        self._applies: dict[RequestPlace, frozenset[AdmissionPhase]] = {}
        """Answers of `phases` since the last change."""
        for follower in (*self.followers.values(), *self.file_followers.values()):
            follower.forget = self._applies.clear

    @property
    def followers(self) -> dict[str, FollowedObjects]:
        """Return the followers of the objects of the API, by plural."""
        return dict(_followers(self._api))

    @property
    def file_followers(self) -> dict[str, FollowedObjects]:
        """Return the followers of the objects of files, by plural."""
        return dict(_followers(self._files))

    def phases(self, place: RequestPlace) -> frozenset[AdmissionPhase]:
        """Implement ConfigurationSource.phases. Every write asks."""
        if not self._synced:
            self._synced = all(follower.synced for follower in self.followers.values())
            if not self._synced:
                return ALL_PHASES
        applies = self._applies.get(place)
        if applies is None:
            if len(self._applies) >= MAX_PLACES:
                self._applies.clear()
            applies = self._applies[place] = frozenset(phase for phase, find in self._finds if find(place))
        return applies

    def is_used(self, phase: AdmissionPhase, *, webhooks: bool) -> bool:
        """Implement ConfigurationSource.is_used."""
        found = (phases[phase] for phases in (self._api, self._files))
        return any((one.webhooks if webhooks else one.policies.bindings).objects for one in found)

    async def webhooks(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[HookEntry]:
        """Implement ConfigurationSource.webhooks."""
        if place.group == REGISTRATION_GROUP:
            return self._files[phase].webhooks.find(place)
        followed = self._api[phase].webhooks
        if not followed.synced:
            await self._wait(followed)
        files = self._files[phase].webhooks
        return files.find(place) + followed.find(place, first=len(files))

    async def policies(self, phase: AdmissionPhase, place: RequestPlace) -> Sequence[PolicyEntry]:
        """Implement ConfigurationSource.policies. Of the policies, only those of files apply to policies themselves."""
        if place.group == REGISTRATION_GROUP and place.resource in _POLICIES:
            return self._files[phase].policies.find(place)
        followed = self._api[phase].policies
        if not (followed.policies.synced and followed.bindings.synced):
            await self._wait(followed.policies, followed.bindings)
        return self._files[phase].policies.find(place) + followed.find(place)

    async def _wait(self, *followed: FollowedObjects) -> None:
        try:
            async with asyncio.timeout(self._ready_timeout):
                for one in followed:
                    await one.ready.wait()
        except TimeoutError as error:
            missing = " ".join(one.type_name for one in followed if not one.synced)
            raise NotReadyError(f"not listed in time: {missing}") from error


def _phases(prefix: str = "") -> dict[AdmissionPhase, _Phase]:
    return {
        phase: _Phase(FollowedWebhooks(f"{kind}WebhookConfiguration", phase, prefix), FollowedPolicies(f"{kind}AdmissionPolicy"))
        for phase, kind in _KINDS.items()
    }


def _followers(phases: dict[AdmissionPhase, _Phase]) -> Iterator[tuple[str, FollowedObjects]]:
    for phase, one in phases.items():
        yield f"{phase}webhookconfigurations", one.webhooks
        yield f"{phase}admissionpolicies", one.policies.policies
        yield f"{phase}admissionpolicybindings", one.policies.bindings
