"""Policies with their bindings, parsed once, and compiled once for each of their revisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

from apiext.api.admission.matching.criteria import MatchCriteria, resources_criteria
from apiext.api.admission.sources import PolicyEntry
from apiext.base.meta.encoding import json_codec
from apiext.base.scheduling.side_thread import aside

if TYPE_CHECKING:
    from apiext.base.meta.encoding.json_codec import Object

FAIL: Final = "Fail"
_MAX_INLINE_LENGTH: Final = 500
"""Characters of the expressions of a policy above which a thread compiles them: each takes about 5 microseconds."""
_KEPT: Final = 64
"""Compiled policies that stay without an entry: a worker process gets new entries with each job."""
Compiled_co = TypeVar("Compiled_co", covariant=True)


@dataclass(frozen=True, slots=True, eq=False)
class PolicyBinding:
    """A binding of a policy."""

    name: str
    spec: Mapping[str, Any] = field(repr=False)
    criteria: MatchCriteria | None
    """None for all writes that the policy matches."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class _Compiled(Generic[Compiled_co]):
    value: Compiled_co


@dataclass(slots=True, eq=False)
class BoundPolicy(Generic[Compiled_co]):
    """A policy with its bindings, and its compiled form once a write needs it."""

    name: str
    spec: Mapping[str, Any] = field(repr=False)
    criteria: MatchCriteria
    bindings: tuple[PolicyBinding, ...]
    key: Hashable
    """Equal for policies that compile to the same."""
    param_kind: Mapping[str, Any] | None = field(default=None, repr=False)
    """The paramKind of the spec."""
    compiled: _Compiled[Compiled_co] | None = field(default=None, init=False, repr=False)
    """None before the first write."""

    @property
    def fails_closed(self) -> bool:
        """Return whether errors reject the write."""
        return (self.spec.get("failurePolicy") or FAIL) == FAIL


class BoundPolicies(Generic[Compiled_co]):
    """Parses and compiles entries. What belongs to an entry that is gone is dropped."""

    def __init__(self, compile_spec: Callable[[Mapping[str, Any]], Compiled_co]) -> None:
        """Remember how the spec of a policy is compiled."""
        self._compile_spec = compile_spec
        self._bound: WeakKeyDictionary[PolicyEntry, BoundPolicy[Compiled_co]] = WeakKeyDictionary()
        self._by_key: WeakValueDictionary[Hashable, _Compiled[Compiled_co]] = WeakValueDictionary()
        self._kept: deque[_Compiled[Compiled_co]] = deque(maxlen=_KEPT)

    def bound(self, entry: PolicyEntry) -> BoundPolicy[Compiled_co]:
        """Return the policy of an entry with its bindings."""
        found = self._bound.get(entry)
        if found is None:
            found = self._bound[entry] = _parse(entry)
        return found

    async def compiled(self, policy: BoundPolicy[Compiled_co]) -> Compiled_co:
        """Return the compiled form of a policy."""
        found = policy.compiled
        if found is None:
            found = self._by_key.get(policy.key)
            if found is None:
                found = _Compiled(await self._compile(policy.spec))
                self._by_key[policy.key] = found
                self._kept.append(found)
            policy.compiled = found
        return found.value

    async def _compile(self, spec: Mapping[str, Any]) -> Compiled_co:
        if _length(spec) <= _MAX_INLINE_LENGTH:
            return self._compile_spec(spec)
        return await aside(lambda: self._compile_spec(spec))


def _parse(entry: PolicyEntry) -> BoundPolicy[Any]:
    metadata, spec = entry.policy["metadata"], entry.policy.get("spec") or {}
    name = str(metadata.get("name", ""))
    version = metadata.get("resourceVersion")
    # policies of files have no revision
    content = None if metadata.get("uid") and version else json_codec.dumps(spec)
    key = (name, metadata.get("uid"), version, content)
    bindings = tuple(map(_parse_binding, entry.bindings))
    return BoundPolicy(name, spec, resources_criteria(spec.get("matchConstraints") or {}), bindings, key, spec.get("paramKind"))


def _parse_binding(binding: Object) -> PolicyBinding:
    spec = binding.get("spec") or {}
    resources = spec.get("matchResources")
    return PolicyBinding(str(binding["metadata"].get("name", "")), spec, None if resources is None else resources_criteria(resources))


def _length(value: Any) -> int:
    """Return the characters of all expressions in a spec."""
    if isinstance(value, Mapping):
        return sum(len(part) if "xpression" in name and isinstance(part, str) else _length(part) for name, part in value.items())
    return sum(map(_length, value)) if isinstance(value, list) else 0
