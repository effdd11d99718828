"""Followers of the configurations of one resource. They are Followers of base/webhook/reflector.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from apiext.api.admission.configuration.place_index import PlaceIndex
from apiext.api.admission.matching.rules import parse_rules
from apiext.api.admission.sources import AdmissionPhase, HookEntry, PolicyEntry, RequestPlace, Revision

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object


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
