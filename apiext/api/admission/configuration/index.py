"""All configurations of a server, of files and of the API, and what finds those that a request may concern."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from apiext.api.admission.matching.exemptions import REGISTRATION_GROUP
from apiext.api.admission.matching.rules import Rule, parse_rules
from apiext.api.admission.sources import ALL_PHASES, AdmissionPhase, HookEntry, NotReadyError, PolicyEntry, RequestPlace, Revision

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

_READY_TIMEOUT: Final = 10.0
"""Seconds for which a write waits for the first lists (apiserver pkg/admission/handler.go, timeToWaitForReady)."""
_POLICIES: Final = frozenset(f"{phase}admissionpolic{ending}" for phase in ("mutating", "validating") for ending in ("ies", "ybindings"))
_KINDS: Final = {AdmissionPhase.MUTATING: "Mutating", AdmissionPhase.VALIDATING: "Validating"}


_ANY: Final = "*"
MAX_PLACES: Final = 4096
"""Places whose entries are kept."""
_TWINS: Final = {("", "events"): ("events.k8s.io", "events"), ("events.k8s.io", "events"): ("", "events")}
"""Resources that serve the same objects in another group: rules for one may match requests for the other."""

Entry = TypeVar("Entry")


def _twins(place: RequestPlace) -> list[RequestPlace]:
    """Return a place, and the one that serves the same objects."""
    twin = _TWINS.get((place.group, place.resource))
    return [place] if twin is None else [place, place._replace(group=twin[0], resource=twin[1])]


@dataclass(slots=True, eq=False)
class _Placed(Generic[Entry]):
    order: tuple[str, int]
    entry: Entry
    rules: tuple[Rule, ...]


@dataclass(slots=True, eq=False)
class PlaceIndex(Generic[Entry]):
    """Entries by owner, found by places. A lookup visits only entries with rules for its group and resource, and is remembered."""

    _owned: dict[str, list[_Placed[Entry]]] = field(default_factory=dict)
    _by_key: defaultdict[tuple[str, str], dict[int, _Placed[Entry]]] = field(default_factory=lambda: defaultdict(dict))
    _found: dict[Hashable, tuple[Entry, ...]] = field(default_factory=dict)

    def put(self, owner: str, entries: Sequence[tuple[Entry, tuple[Rule, ...]]]) -> None:
        """Replace the entries of an owner."""
        self.remove(owner)
        placed = [_Placed((owner, number), entry, rules) for number, (entry, rules) in enumerate(entries)]
        for one in placed:
            for key in _keys(one):
                self._by_key[key][id(one)] = one
        if placed:
            self._owned[owner] = placed

    def remove(self, owner: str) -> None:
        """Remove the entries of an owner, if it has any."""
        self._found.clear()
        for one in self._owned.pop(owner, ()):
            for key in _keys(one):
                entries = self._by_key[key]
                entries.pop(id(one), None)
                if not entries:
                    del self._by_key[key]

    def find(self, place: RequestPlace) -> tuple[Entry, ...]:
        """Return the entries with a rule that matches a place, in the order of owners' names, then as they were put."""
        if not self._owned:
            return ()
        found = self._found.get(place)
        if found is None:
            if len(self._found) >= MAX_PLACES:
                self._found.clear()
            found = self._found[place] = self._search(place)
        return found

    def _search(self, place: RequestPlace) -> tuple[Entry, ...]:
        candidates: dict[int, _Placed[Entry]] = {}
        places = _twins(place)
        for group, resource in [(one.group, one.resource) for one in places]:
            for key in ((group, resource), (group, _ANY), (_ANY, resource), (_ANY, _ANY)):
                candidates.update(self._by_key.get(key) or {})
        matching = [one for one in candidates.values() if any(rule.covers(at) for rule in one.rules for at in places)]
        return tuple(one.entry for one in sorted(matching, key=lambda one: one.order))


def _keys(placed: _Placed[Any]) -> set[tuple[str, str]]:
    """Return the groups and resources under which an entry is indexed."""
    return {(group, resource) for rule in placed.rules for group in rule.groups or (_ANY,) for resource, _ in rule.resources}


class FollowedObjects:
    """The objects of a resource by name. A subclass is called before and after a change."""

    def __init__(self, kind: str) -> None:
        self.type_name = f"*v1.{kind}"
        self.ready = asyncio.Event()
        """Set once the first list is complete."""
        self.listeners: list[Callable[[Object], None]] = []
        """Called with each new state of an object."""
        self.forget: Callable[[], object] = list
        """Called after each change."""
        self._objects: dict[str, Object] = {}

    @property
    def synced(self) -> bool:
        """Return whether the first list is complete."""
        return self.ready.is_set()

    @property
    def objects(self) -> Sequence[Object]:
        """Return all objects."""
        return tuple(self._objects.values())

    def get(self, name: str) -> Object | None:
        """Return an object by name."""
        return self._objects.get(name)

    def replaced(self, objects: Sequence[Object]) -> None:
        """Replace all objects. Those with an unchanged revision stay as they are."""
        listed = {found["metadata"]["name"] for found in objects}
        for name in [name for name in self._objects if name not in listed]:
            self._drop(name)
        for found in objects:
            known = self._objects.get(found["metadata"]["name"])
            if known is None or revision_of(known) != revision_of(found):
                self.changed(found)
        self.ready.set()

    def changed(self, found: Object) -> None:
        """Add or update an object."""
        name = found["metadata"]["name"]
        before, self._objects[name] = self._objects.get(name), found
        self._on_change(name, before, found)
        self.forget()
        for listener in self.listeners:
            listener(found)

    def deleted(self, found: Object) -> None:
        """Remove an object."""
        self._drop(found["metadata"]["name"])

    def _drop(self, name: str) -> None:
        before = self._objects.pop(name, None)
        if before is not None:
            self._on_change(name, before, None)
            self.forget()

    def _on_change(self, name: str, before: Object | None, after: Object | None) -> None:
        """Take a change; None stands for a missing object."""
        raise NotImplementedError


class FollowedWebhooks(FollowedObjects):
    """The webhooks of the configurations of a phase."""

    def __init__(self, kind: str, phase: AdmissionPhase, prefix: str = "") -> None:
        """Create it; the uids of the webhooks begin with `prefix`."""
        super().__init__(kind)
        self._phase = phase
        self._prefix = prefix
        self._index: PlaceIndex[HookEntry] = PlaceIndex()
        self._entries: dict[str, list[HookEntry]] = {}
        """The webhooks by the names of configurations."""
        self._numbered_from = -1
        """The first number at the last numbering, negative after a change."""

    def __len__(self) -> int:
        """Return the number of all webhooks."""
        return sum(map(len, self._entries.values()))

    def find(self, place: RequestPlace, *, first: int = 0) -> tuple[HookEntry, ...]:
        """Return the webhooks with a rule that matches a place, by the names of configurations, then in their order.

        The numbers of all webhooks begin with `first`.
        """
        if self._numbered_from != first:
            self._numbered_from = first
            entries = (entry for name in sorted(self._entries) for entry in self._entries[name])
            for number, entry in enumerate(entries, first):
                entry.number = number
        return self._index.find(place)

    def _on_change(self, name: str, before: Object | None, after: Object | None) -> None:
        self._numbered_from = -1
        if after is None:
            self._index.remove(name)
            del self._entries[name]
        else:
            self._entries[name] = entries = hook_entries(after, self._phase, self._prefix)
            self._index.put(name, [(entry, parse_rules(entry.hook.get("rules"))) for entry in entries])


class FollowedPolicies:
    """The policies of a phase with their bindings. Policies without bindings have no effect."""

    def __init__(self, kind: str) -> None:
        self.policies = _Followed(kind, self._policy_changed)
        self.bindings = _Followed(f"{kind}Binding", self._binding_changed)
        self._by_policy: dict[str, dict[str, Object]] = {}
        self._changed: set[str] = set()
        """Names of policies whose entries must be made again."""
        self._index: PlaceIndex[PolicyEntry] = PlaceIndex()

    def find(self, place: RequestPlace) -> tuple[PolicyEntry, ...]:
        """Return the policies with a rule that matches a place, by name."""
        if self._changed:
            for name in self._changed:
                self._renew(name)
            self._changed.clear()
        return self._index.find(place)

    def _policy_changed(self, name: str, _before: Object | None, _after: Object | None) -> None:
        self._changed.add(name)

    def _binding_changed(self, name: str, before: Object | None, after: Object | None) -> None:
        if before is not None:
            policy = _policy_of(before)
            bindings = self._by_policy[policy]
            del bindings[name]
            if not bindings:
                del self._by_policy[policy]
            self._changed.add(policy)
        if after is not None:
            policy = _policy_of(after)
            self._by_policy.setdefault(policy, {})[name] = after
            self._changed.add(policy)

    def _renew(self, name: str) -> None:
        policy, bindings = self.policies.get(name), self._by_policy.get(name)
        if policy is None or not bindings:
            self._index.remove(name)
            return
        constraints = (policy.get("spec") or {}).get("matchConstraints") or {}
        entry = PolicyEntry(policy, tuple(bindings[each] for each in sorted(bindings)))
        self._index.put(name, [(entry, parse_rules(constraints.get("resourceRules")))])


class _Followed(FollowedObjects):
    def __init__(self, kind: str, on_change: Callable[[str, Object | None, Object | None], None]) -> None:
        super().__init__(kind)
        self._changed = on_change

    def _on_change(self, name: str, before: Object | None, after: Object | None) -> None:
        self._changed(name, before, after)


def _policy_of(binding: Object) -> str:
    return str((binding.get("spec") or {}).get("policyName") or "")


def revision_of(obj: Object) -> Revision:
    """Return the revision of a configuration."""
    metadata = obj["metadata"]
    return Revision(str(metadata.get("uid") or ""), str(metadata.get("resourceVersion") or ""))


def hook_entries(configuration: Object, phase: AdmissionPhase, prefix: str) -> list[HookEntry]:
    """Return the webhooks of a configuration, whose uids begin with `prefix`."""
    name, revision = configuration["metadata"]["name"], revision_of(configuration)
    entries: list[HookEntry] = []
    numbers: dict[str, int] = {}
    for hook in configuration.get("webhooks") or ():
        number = numbers[hook["name"]] = numbers.get(hook["name"], -1) + 1
        entries.append(HookEntry(revision, name, f"{prefix}{name}/{hook['name']}/{number}", hook, phase))
    return entries


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
